# SPDX-License-Identifier: Apache-2.0
"""What is concluded from what became of holds and hosts?"""

import fixtures
from nova import objects as nova_objects
from nova.virt.libvirt import driver as libvirt

from nova_groupext import objects
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.scheduler.follow import follow
from tests.functional import base
from tests.functional import following

TRAP = 'nova_groupext.faultpoints.trap'


class TestHolds(following.FollowCase):
    """Our rows and Placement's."""

    def remove_hold(self, uuid):
        """Remove a hold as ``nova-manage placement audit --delete`` does."""
        hold = self.hold_of(uuid)
        self.cloud.placement.delete(f'/allocations/{hold.uuid}')
        return hold

    def test_a_removed_hold_is_held_again_under_a_new_uuid(self):
        uuid = self.hold_one()
        removed = self.remove_hold(uuid)

        self.follow()

        self.assertNotEqual(removed.uuid, self.hold_of(uuid).uuid)
        self.assert_held_again(uuid)

    def test_a_removed_hold_for_which_is_no_room_fails_its_member(self):
        uuid = self.hold_one()
        self.remove_hold(uuid)
        self.fill('cmp-1', VCPU=8)

        self.follow()

        self.assert_outcome(
            uuid,
            ('FAILED', follow.HOLD_IS_LOST),
            {**following.FREE, 'cmp-1': 0},
        )
        self.assertEqual('RELEASED', self.group(uuid)['status'])

    def shrink_by(self, vcpus):
        self.shrink(self.cloud.provider('cmp-1'), 'VCPU', reserved=vcpus)

    def test_of_what_is_too_much_the_highest_uuid_goes(self):
        uuid = self.held(
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
                else ('FAILED', 'there is less capacity than was held')
                for each in members
            },
            {each.id: (each.status, each.fault) for each in members},
        )
        self.assertEqual({**following.FREE, 'cmp-1': 0}, self.free())

    def test_who_is_a_server_stays_where_is_too_much(self):
        uuid = self.held(
            {'members': {'a': following.in_zone('az1', count=2)}}
        )['id']
        self.redeem(uuid, 'a-0', 'm1.tiny', availability_zone='az1')
        self.shrink_by(7)

        self.follow()

        self.assertEqual(
            {
                'a-0': ('ACTIVE', None),
                'a-1': ('FAILED', 'there is less capacity than was held'),
            },
            self.outcome(uuid),
        )

    def test_what_leaves_goes_before_what_stays(self):
        uuid = self.held(
            {'members': {'a': following.in_zone('az1', count=2)}}
        )['id']
        holds = sorted(self.holds_of(uuid), key=lambda hold: hold.uuid)
        leaves, stays = holds
        transitions.end_hold(self.context, leaves)
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


class HostCase(following.FollowCase):
    """Hosts that the operator takes away."""

    def hold_everywhere(self):
        uuid = self.held(
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
                path: ('FAILED', follow.HOST_IS_GONE),
            },
            self.outcome(uuid),
        )
        self.assertEqual('HELD', self.group(uuid)['status'])


class TestHosts(HostCase):
    def test_of_a_disabled_host_everything_is_given_back(self):
        uuid = self.hold_everywhere()
        self.disable('cmp-1')

        self.follow()

        self.assert_lost('a', uuid)
        self.assertEqual({'cmp-1': 8, 'cmp-2': 7, 'cmp-3': 7}, self.free())

    def test_a_host_that_is_down_may_come_back(self):
        uuid = self.hold_everywhere()
        services, compute = self.service('cmp-1')
        services.force_down(compute, True)
        self.addCleanup(services.force_down, compute, False)

        self.follow()

        self.assertEqual({('HELD', None)}, {*self.outcome(uuid).values()})

    def test_a_host_that_disables_itself_may_come_back(self):
        """As Nova's driver does while libvirt does not answer it."""
        uuid = self.hold_everywhere()
        reason = f'{libvirt.DISABLE_PREFIX}Connection to libvirt lost: 1'
        self.disable('cmp-1', reason)

        self.follow()

        self.assertEqual({('HELD', None)}, {*self.outcome(uuid).values()})

    def test_of_a_cell_that_does_not_answer_nothing_is_concluded(self):
        uuid = self.hold_everywhere()
        self.disable('cmp-1')
        self.useFixture(
            following.silent(nova_objects.Service, 'get_by_compute_host')
        )

        self.follow()

        self.assertEqual({('HELD', None)}, {*self.outcome(uuid).values()})

    def test_a_provider_without_an_answer_stops_nobody_else(self):
        uuid = self.hold_everywhere()
        for path in ('a', 'b', 'c'):
            hold = self.hold_of(uuid, path)
            self.cloud.placement.delete(f'/allocations/{hold.uuid}')
        silent = min(self.cloud.provider(host.name) for host in self.HOSTS)

        with base.silent_about(silent, 'used'):
            self.follow()
        self.assertEqual([7, 7, 8], sorted(self.free().values()))

        self.follow()
        self.assertEqual([7, 7, 7], sorted(self.free().values()))


class TestSlowRedeem(HostCase):
    """The reaper comes by when a swap is done and not yet remembered."""

    def redeem_during(self, change):
        """Redeem a member; what holds is changed and followed meanwhile."""
        uuid = self.hold_one()

        def trap(point):
            if point == 'before redeem.close':
                change()
                self.follow()

        self.useFixture(fixtures.MonkeyPatch(TRAP, trap))
        server = self.redeem(uuid, 'a', 'm1.tiny', availability_zone='az1')
        self.assertEqual('ACTIVE', server.status)
        self.assert_outcome(uuid, ('ACTIVE', None), following.ONE_HELD)
        self.assertEqual(
            [states.Hold.REDEEMED],
            [hold.status for hold in self.holds_of(uuid)],
        )

    def test_a_swapped_hold_was_not_removed(self):
        self.redeem_during(lambda: None)

    def test_a_swapped_hold_is_not_lost_with_its_host(self):
        self.redeem_during(lambda: self.disable('cmp-1'))


class TestDeletedHost(HostCase):
    """The host does not come back."""

    SHARES_CLOUD = False

    def test_of_a_deleted_host_everything_is_given_back(self):
        uuid = self.hold_everywhere()
        provider = self.cloud.provider('cmp-3')
        services, compute = self.service('cmp-3')
        services.delete(compute)

        self.follow()

        self.assert_lost('c', uuid)
        self.assertEqual({}, self.ledger.used(self.context, provider) or {})
