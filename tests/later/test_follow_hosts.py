# SPDX-License-Identifier: Apache-2.0
"""Members that follow the loss of their holds or hosts."""

import fixtures
from nova.virt.libvirt import driver as libvirt

from nova_groupext import objects
from nova_groupext.objects import redeems
from nova_groupext.objects import states
from nova_groupext.objects import swap_results
from nova_groupext.scheduler.follow import hold_changes
from nova_groupext.scheduler.nova import service_states
from tests.functional import base
from tests.functional import following

HANDLER = 'nova_groupext.faultpoints.handler'


class TestHolds(following.FollowTestCase):
    """Holds that differ between our rows and Placement."""

    def remove_hold(self, uuid):
        """Remove a hold as ``nova-manage placement audit --delete`` does."""
        hold = self.hold_of(uuid)
        self.cloud.placement.delete(f'/allocations/{hold.uuid}')
        return hold

    def test_removed_hold_gets_a_successor_with_a_new_uuid(self):
        uuid = self.hold_one()
        removed = self.remove_hold(uuid)

        self.follow()

        self.assertNotEqual(removed.uuid, self.hold_of(uuid).uuid)
        self.assert_reheld(uuid)

    def test_removed_hold_without_free_capacity_fails_its_member(self):
        uuid = self.hold_one()
        self.remove_hold(uuid)
        self.fill('cmp-1', VCPU=8)

        self.follow()

        self.assert_outcome(
            uuid,
            ('FAILED', swap_results.IS_LOST),
            {**following.FREE, 'cmp-1': 0},
        )
        self.assertEqual('RELEASED', self.group(uuid)['status'])

    def shrink_by(self, vcpus):
        self.change_inventory(
            self.cloud.provider('cmp-1'), 'VCPU', reserved=vcpus
        )

    def test_overcommitted_hold_with_the_highest_uuid_is_released(self):
        uuid = self.hold_group(
            {'members': {'a': following.in_zone('az1', count=3)}}
        )['id']
        holds = sorted(self.holds_of(uuid), key=lambda hold: hold.uuid)
        [*stay, _goes] = [hold.member_id for hold in holds]
        self.shrink_by(6)

        self.follow()

        members = objects.VRTGroup.get(self.context, uuid).members
        self.assertEqual(
            {
                each.id: ('HELD', None)
                if each.id in stay
                else ('FAILED', 'its host no longer has the held capacity')
                for each in members
            },
            {each.id: (each.status, each.fault) for each in members},
        )
        self.assertEqual({**following.FREE, 'cmp-1': 0}, self.free())

    def test_server_on_an_overcommitted_host_stays(self):
        uuid = self.hold_group(
            {'members': {'a': following.in_zone('az1', count=2)}}
        )['id']
        self.redeem(uuid, 'a-0', 'm1.tiny', availability_zone='az1')
        self.shrink_by(7)

        self.follow()

        self.assertEqual(
            {
                'a-0': ('ACTIVE', None),
                'a-1': ('FAILED', 'its host no longer has the held capacity'),
            },
            self.member_outcomes(uuid),
        )

    def test_hold_in_releasing_is_counted_as_released_first(self):
        uuid = self.hold_group(
            {'members': {'a': following.in_zone('az1', count=2)}}
        )['id']
        holds = sorted(self.holds_of(uuid), key=lambda hold: hold.uuid)
        leaves, stays = holds
        redeems.end_hold(self.context, leaves)
        self.shrink_by(7)

        self.follow()

        self.assertIn(
            stays.uuid,
            {
                hold.uuid
                for hold in self.holds_of(uuid)
                if hold.status == states.Hold.HELD
            },
        )


class HostCase(following.FollowTestCase):
    """Hosts that the operator disables or deletes."""

    def hold_everywhere(self):
        uuid = self.hold_group(
            {
                'members': {
                    'a': following.in_zone('az1'),
                    'b': following.in_zone('az2'),
                    'c': following.in_zone('az3'),
                }
            }
        )['id']
        self.assertEqual({'cmp-1': 7, 'cmp-2': 7, 'cmp-3': 7}, self.free())
        return uuid

    def service(self, host):
        services = self.cloud.nova('admin').services
        [found] = services.list(host=host, binary='nova-compute')
        return services, found.id

    def disable(self, host, reason='it is old'):
        services, compute = self.service(host)
        services.disable_log_reason(compute, reason)
        self.addCleanup(services.enable, compute)

    def assert_lost(self, path, uuid):
        self.assertEqual(
            {
                'a': ('HELD', None),
                'b': ('HELD', None),
                'c': ('HELD', None),
                path: ('FAILED', hold_changes.HOST_IS_GONE),
            },
            self.member_outcomes(uuid),
        )
        self.assertEqual('HELD', self.group(uuid)['status'])


class TestHosts(HostCase):
    def test_holds_on_a_disabled_host_are_released(self):
        uuid = self.hold_everywhere()
        self.disable('cmp-1')

        self.follow()

        self.assert_lost('a', uuid)
        self.assertEqual({'cmp-1': 8, 'cmp-2': 7, 'cmp-3': 7}, self.free())

    def test_holds_on_a_host_that_is_down_are_kept(self):
        uuid = self.hold_everywhere()
        services, compute = self.service('cmp-1')
        services.force_down(compute, True)
        self.addCleanup(services.force_down, compute, False)

        self.follow()

        self.assertEqual(
            {('HELD', None)}, {*self.member_outcomes(uuid).values()}
        )

    def test_holds_on_a_host_that_disables_itself_are_kept(self):
        """Nova's driver does so while libvirt does not answer."""
        uuid = self.hold_everywhere()
        reason = f'{libvirt.DISABLE_PREFIX}Connection to libvirt lost: 1'
        self.disable('cmp-1', reason)

        self.follow()

        self.assertEqual(
            {('HELD', None)}, {*self.member_outcomes(uuid).values()}
        )

    def test_holds_in_an_unavailable_cell_are_kept(self):
        uuid = self.hold_everywhere()
        self.disable('cmp-1')
        self.useFixture(
            following.fail_nova_query(service_states, '_read_enabled')
        )

        self.follow()

        self.assertEqual(
            {('HELD', None)}, {*self.member_outcomes(uuid).values()}
        )

    def test_unavailable_provider_does_not_affect_other_providers(self):
        uuid = self.hold_everywhere()
        for path in ('a', 'b', 'c'):
            hold = self.hold_of(uuid, path)
            self.cloud.placement.delete(f'/allocations/{hold.uuid}')
        silent = min(self.cloud.provider(host.name) for host in self.HOSTS)

        with base.fail_query(silent, 'usages'):
            self.follow()
        self.assertEqual([7, 7, 8], sorted(self.free().values()))

        self.follow()
        self.assertEqual([7, 7, 7], sorted(self.free().values()))


class TestSlowRedeem(HostCase):
    """Rounds of the reaper after a redeem's swap and before its commit."""

    def redeem_during(self, change):
        """Redeem a member, and run a change and the reaper meanwhile."""
        uuid = self.hold_one()

        def handler(point):
            if point == 'before redeem.commit':
                change()
                self.follow()

        self.useFixture(fixtures.MonkeyPatch(HANDLER, handler))
        server = self.redeem(uuid, 'a', 'm1.tiny', availability_zone='az1')
        self.assertEqual('ACTIVE', server.status)
        self.assert_outcome(uuid, ('ACTIVE', None), following.ONE_HELD)
        self.assertEqual(
            [states.Hold.REDEEMED],
            [hold.status for hold in self.holds_of(uuid)],
        )

    def test_redeemed_hold_is_not_taken_for_removed(self):
        self.redeem_during(lambda: None)

    def test_redeemed_hold_on_a_disabled_host_is_kept(self):
        self.redeem_during(lambda: self.disable('cmp-1'))


class TestDeletedHost(HostCase):
    """A host that is deleted for good."""

    SHARES_CLOUD = False

    def test_holds_on_a_deleted_host_are_released(self):
        uuid = self.hold_everywhere()
        provider = self.cloud.provider('cmp-3')
        services, compute = self.service('cmp-3')
        services.delete(compute)

        self.follow()

        self.assert_lost('c', uuid)
        self.assertEqual(
            {}, self.placement_client.usages(self.context, provider) or {}
        )
