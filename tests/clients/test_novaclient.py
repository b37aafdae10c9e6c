# SPDX-License-Identifier: Apache-2.0
"""Does novaclient know groups, once the client parts are installed?"""

from novaclient import client
from novaclient import exceptions

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

    def test_life_of_a_group(self):
        group = self.groups.create(
            self.name(), base.topology(), description='a shop', hold=False
        )
        self.addCleanup(self.forget, group)
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
        with self.assertRaises(exceptions.Conflict):
            self.groups.update(found, found.generation - 1, found.topology)

        with self.assertRaises(exceptions.Conflict):
            self.groups.delete(found, found.generation - 1)
        found.delete()
        with self.assertRaises(exceptions.NotFound):
            self.groups.get(group.id)

    def test_booted(self):
        group = self.held(topology=base.topology(1))

        self.groups.boot(group.id, {'default': {'networks': 'none'}})

        active = self.wait(group.id, 'ACTIVE')
        self.assertEqual(1, active.boot['missing'])

    def test_lists_and_capabilities(self):
        group = self.described(hold=False)

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
