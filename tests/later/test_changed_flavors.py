# SPDX-License-Identifier: Apache-2.0
"""Flavors and images that change after members were described by them."""

import fixtures

from nova_groupext.cloud import image
from nova_groupext.conf import CONF
from tests.functional import base
from tests.functional import revising
from tests.later import test_resizing

NAME, TRAIT = 'vrt-changing', 'CUSTOM_FAST'
MEMBERS = {'members': {'a': base.member(NAME, count=1, max_count=2)}}


class ChangedFlavorTestCase(test_resizing.ResizingTestCase):
    """A held member, whose flavor requires another host from some time on."""

    def setUp(self):
        super().setUp()
        nova = self.cloud.nova('admin')
        self.flavor = nova.flavors.create(NAME, 64, 1, 1)
        self.addCleanup(lambda: self.flavor.delete())
        self.uuid = self.hold_group(MEMBERS)['id']
        self.other = self.other_than(self.planned_hosts(self.uuid)['a-0'])

    def other_than(self, host):
        return next(each.name for each in self.HOSTS if each.name != host)

    def require_trait(self):
        """Require a trait in the flavor that only the other host has."""
        self.add_trait()
        self.flavor.set_keys({f'trait:{TRAIT}': 'required'})

    def add_trait(self):
        """Give the other host the trait."""
        placement = self.cloud.placement
        placement.put(f'/traits/{TRAIT}')
        providers = placement.get(f'/resource_providers?name={self.other}')
        [provider] = providers.json()['resource_providers']
        path = f'/resource_providers/{provider["uuid"]}/traits'
        traits = placement.get(path).json()
        self.addCleanup(self.remove_trait, path)
        traits['traits'].append(TRAIT)
        placement.put(path, json=traits)

    def remove_trait(self, path):
        traits = self.cloud.placement.get(path).json()
        traits['traits'].remove(TRAIT)
        self.cloud.placement.put(path, json=traits)

    def change_image(self, **properties):
        """Set the properties of the members' image."""
        images = {**image.IMAGES, 'cirros': properties}
        self.useFixture(
            fixtures.MonkeyPatch(f'{image.__name__}.IMAGES', images)
        )

    def create_first(self):
        """Create the server of the held member."""
        server = self.redeem(self.uuid, 'a-0', NAME)
        self.assertEqual('ACTIVE', server.status, vars(server))
        return server

    def assert_unchanged(self, server):
        """Expect that the revised member is as its server was built."""
        group = self.put_revision(self.uuid, MEMBERS)
        [member] = group['members']
        self.assertEqual(server.id, member['server_id'])
        self.assertEqual((None, None), (member['resize'], member['pending']))
        self.assertEqual(1, len(self.holds_of(self.uuid)))
        return member['status']


class TestHeld(ChangedFlavorTestCase):
    def assert_read_again(self, what, path='a-0'):
        """Expect that a create needs a revision."""
        why = self.try_redeem(self.uuid, path, NAME)
        self.assertIn(f'{what} has changed since the member was', why)
        self.assertIn('update the group', why)

        self.put_revision(self.uuid, MEMBERS)

        self.assertEqual('ACTIVE', self.try_redeem(self.uuid, path, NAME))

    def test_changed_flavor_is_read_again_by_a_revision(self):
        self.require_trait()

        self.assert_read_again(f'flavor {NAME}')

        self.assertEqual({'a-0': self.other}, self.planned_hosts(self.uuid))

    def test_changed_image_is_read_again_by_a_revision(self):
        self.add_trait()
        self.change_image(**{f'trait:{TRAIT}': 'required'})

        self.assert_read_again(f'image {image.image_id("cirros")}')

        self.assertEqual({'a-0': self.other}, self.planned_hosts(self.uuid))

    def test_members_that_are_placed_for_creates_need_it_as_well(self):
        self.create_first()
        self.require_trait()

        self.assert_read_again(f'flavor {NAME}', 'a')

    def test_flavor_that_members_cannot_have_yet_is_named_as_such(self):
        self.flavor.set_keys({'hw:numa_nodes': '1'})

        self.put_revision(self.uuid, MEMBERS)

        self.assertIn(
            'which members do not support yet',
            self.try_redeem(self.uuid, 'a-0', NAME),
        )

    def test_hold_stays_if_the_change_does_not_matter_to_it(self):
        before = self.held_hosts(self.uuid)
        self.api('admin').put(
            f'/flavors/{self.flavor.id}',
            json={'flavor': {'description': 'for tests'}},
        )

        self.put_revision(self.uuid, MEMBERS)

        self.assertEqual(before, self.held_hosts(self.uuid))

    def test_replan_keeps_the_flavor(self):
        self.require_trait()
        self.act(self.uuid, 'replan')
        self.eventually(self.group, revising.is_decided, self.uuid)

        self.assert_read_again(f'flavor {NAME}')

    def test_added_member_leaves_the_others_as_they_are(self):
        before = self.held_hosts(self.uuid)
        self.require_trait()

        answer = self.api().post(
            f'{base.GROUPS}/{self.uuid}/members',
            json={'member': {'path': 'b', **base.member()}},
        )

        self.assertEqual(202, answer.status_code, answer.text)
        self.eventually(self.group, revising.is_decided, self.uuid)
        held = self.held_hosts(self.uuid)
        self.assertEqual(2, len(held))
        self.assertLessEqual(before.items(), held.items())

    def test_image_that_has_gone_does_not_prevent_a_revision(self):
        images = {k: v for k, v in image.IMAGES.items() if k != 'cirros'}
        before = self.held_hosts(self.uuid)
        with fixtures.MonkeyPatch(f'{image.__name__}.IMAGES', images):
            self.put_revision(self.uuid, MEMBERS)

        self.assertEqual(before, self.held_hosts(self.uuid))


class TestServers(ChangedFlavorTestCase):
    """Servers keep the flavor and image that they were built with."""

    def test_server_is_not_to_be_resized(self):
        server = self.create_first()
        self.flavor.set_keys({'resources:VCPU': '2'})

        self.assertEqual('ACTIVE', self.assert_unchanged(server))

    def test_server_is_not_to_be_resized_to_a_flavor_created_again(self):
        server = self.create_first()
        self.flavor.delete()
        self.flavor = self.cloud.nova('admin').flavors.create(NAME, 64, 1, 1)

        self.assertEqual('ACTIVE', self.assert_unchanged(server))

    def test_server_is_not_to_be_rebuilt(self):
        server = self.create_first()
        self.change_image(hw_firmware_type='uefi')

        self.assertEqual('ACTIVE', self.assert_unchanged(server))

    def test_reservation_for_a_resize_follows_the_changed_flavor(self):
        uuid, _servers = self.running(test_resizing.one())
        self.put_revision(uuid, test_resizing.one(NAME))
        self.other = self.other_than(self.reservation(uuid))
        self.require_trait()

        self.put_revision(uuid, test_resizing.one(NAME))

        self.assertEqual(self.other, self.reservation(uuid))

    def test_shelved_server_does_not_prevent_a_revision(self):
        server = self.create_first()
        self.shelve(server)
        self.follow()
        self.require_trait()

        group = self.put_revision(self.uuid, MEMBERS)

        self.assertEqual({'a-0': 'SHELVED'}, self.member_statuses(group))
        self.assertEqual(('Success', 'ACTIVE'), self.move('unshelve', server))

    def test_hold_of_a_server_is_not_kept_for_one_with_the_changed_flavor(
        self,
    ):
        CONF.set_override('rehold_after_server_end', True, 'vrt')
        self.addCleanup(CONF.clear_override, 'rehold_after_server_end', 'vrt')
        server = self.create_first()
        self.require_trait()
        self.put_revision(self.uuid, MEMBERS)

        self.delete_servers(server)
        self.follow()

        self.assertEqual('ACTIVE', self.try_redeem(self.uuid, 'a-0', NAME))
        self.assertEqual({'a-0': self.other}, self.planned_hosts(self.uuid))
