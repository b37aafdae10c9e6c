# SPDX-License-Identifier: Apache-2.0
"""novaclient with the extension for groups."""

import fixtures
from novaclient import client
from novaclient import exceptions

from nova_groupext.api import vrt_groups
from tests.clients import base


class TestNovaclient(base.ClientTestCase):
    def setUp(self):
        super().setUp()
        self.groups = client.Client(
            '2.1',
            session=self.cloud.session('demo'),
            extensions=client.discover_extensions(),
        ).vrt_groups

    def states(self, group):
        return [member.status for member in self.groups.members(group)]

    def test_group_is_created_changed_and_deleted(self):
        group = self.groups.create(
            self.unique_name(),
            base.topology(),
            description='a shop',
            hold=False,
        )
        self.addCleanup(self.delete_group_and_servers, group)
        self.wait(group.id)

        self.groups.hold(group)
        self.wait(group.id)
        found = self.groups.find(name=group.name)
        self.assertEqual(
            (group.id, 'HELD', 'a shop'),
            (found.id, found.status, found.description),
        )
        self.groups.extend(found, 3000)
        self.groups.release(found, ['front/web-1'])
        self.assertEqual(['HELD', 'RELEASED'], self.states(found))
        self.groups.propose(found)
        self.assertEqual([], self.groups.proposal(found)['moves'])
        outdated = found.generation
        self.groups.update(found, outdated, name='other')
        with self.assertRaises(exceptions.Conflict):
            self.groups.update(found, outdated, found.topology)

        with self.assertRaises(exceptions.Conflict):
            self.groups.delete(found, outdated)
        found.delete()
        with self.assertRaises(exceptions.NotFound):
            self.groups.get(group.id)

    def test_boot_creates_the_servers(self):
        group = self.hold_group(topology=base.topology(1))

        self.groups.boot(group.id, {'default': {'networks': 'none'}})

        active = self.wait(group.id, 'ACTIVE')
        self.assertEqual(1, active.boot['missing'])

    def test_groups_of_all_pages_are_found(self):
        self.useFixture(
            fixtures.MockPatchObject(vrt_groups, 'PAGE_MEMBERS', 1)
        )
        first, second = (self.create_group(hold=False) for _number in range(2))
        self.wait(first)
        self.wait(second)

        found = self.groups.findall(status='PLANNED')

        self.assertLessEqual(
            {first.id, second.id}, {each.id for each in found}
        )
        self.assertEqual(second.id, self.groups.find(id=second.id).id)
        with self.assertRaises(exceptions.NotFound):
            self.groups.find(name=first.name, status='HELD')

    def test_lists_and_capabilities_are_read(self):
        group = self.create_group(hold=False)

        [listed] = self.groups.list(search_opts={'name': group.name}, limit=2)
        brief = self.groups.list(detailed=False)

        self.assertEqual(base.topology(), listed.topology)
        self.assertIn(group.id, {each.id for each in brief})
        self.assertNotIn(
            group.id, {each.id for each in self.groups.list(marker=listed)}
        )
        self.assertEqual(
            ['host', 'rack', 'zone'], self.groups.capabilities()['scopes']
        )
