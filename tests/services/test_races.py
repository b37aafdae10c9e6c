# SPDX-License-Identifier: Apache-2.0
"""Concurrent operations on a group, in one staged order each.

``tests/protocol`` explores all of their orders.
"""

from nova import exception as nova_exc
from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext.objects import releases
from nova_groupext.scheduler.nova.servers import ServerOutcome
from nova_groupext.scheduler.placement import bodies
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.reap import reaper
from tests.services import deployment
from tests.services import races


class TestStagedRaces(races.RaceTestCase):
    """Races that the protocol of holds was made for."""

    def setUp(self):
        super().setUp()
        self.create_group()
        self.server = uuidutils.generate_uuid()

    def redeem(self, **kwargs):
        return self.deployment.redeem(self.uuid, 'm-0', self.server, **kwargs)

    def refusal(self, **kwargs):
        error = self.assertRaises(nova_exc.NoValidHost, self.redeem, **kwargs)
        return str(error)

    def servers(self):
        return {self.server}

    def test_slow_redeem_succeeds_after_the_reaper_has_finished_it(self):
        self.call_at('before redeem.transfer', self.deployment.reap)

        self.redeem()

        self.assertEqual(
            {'ACTIVE': 1, 'HELD': 2}, self.deployment.status_counts(self.uuid)
        )
        self.assertIn(self.server, self.deployment.allocations())
        self.delete_and_check()

    def test_redeem_of_a_dead_scheduler_is_finished_by_the_reaper(self):
        for point in ('before redeem.transfer', 'after redeem.transfer'):
            self.call_at(point, self.die)

            self.assertRaises(deployment.ProcessKilled, self.redeem)
            self.deployment.server_outcomes[self.server] = (
                ServerOutcome.CREATING
            )
            self.deployment.reap()

            self.assertEqual(
                {'ACTIVE': 1, 'HELD': 2},
                self.deployment.status_counts(self.uuid),
            )
            self.assertIn(self.server, self.deployment.allocations())
            # Nova's conductor has timed out.
            self.deployment.server_outcomes[self.server] = (
                ServerOutcome.UNSCHEDULED
            )
            self.deployment.reap()
            self.assertEqual(
                {'HELD': 3}, self.deployment.status_counts(self.uuid)
            )
            self.assertNotIn(self.server, self.deployment.allocations())

        self.delete_and_check()

    @staticmethod
    def die():
        raise deployment.ProcessKilled

    def test_late_allocation_of_a_deleted_server_is_released(self):
        hold = self.deployment.hold(self.uuid, 'm-0')
        self.redeem()
        self.deployment.server_outcomes[self.server] = ServerOutcome.DELETED
        self.deployment.delete_allocations(self.server)
        body = bodies.for_server(hold, deployment.PROJECT, 'user')

        self.deployment.placement_client().fill_servers(
            self.deployment.context, {self.server: body}
        )
        self.deployment.reap()

        self.assertNotIn(self.server, self.deployment.allocations())
        self.assertEqual(
            {'TENTATIVE': 1, 'HELD': 2},
            self.deployment.status_counts(self.uuid),
        )
        self.delete_and_check()

    def test_hold_of_a_redeem_that_placement_refuses_is_released(self):
        """The inventory's max_unit has become smaller than a member."""
        path = f'/resource_providers/{self.large_provider}/inventories/VCPU'
        inventory = self.deployment.admin.get(path).json()
        self.deployment.admin.put(path, json={**inventory, 'max_unit': 1})
        self.call_at('before redeem.transfer', self.die)
        self.assertRaises(deployment.ProcessKilled, self.redeem)

        self.deployment.reap()

        self.assertEqual(
            {'FAILED': 1, 'HELD': 2}, self.deployment.status_counts(self.uuid)
        )
        self.assertEqual(2, len(self.deployment.allocations()))
        self.delete_and_check()

    def test_take_back_is_finished_without_an_answer_from_the_cell(self):
        """The state of the server in Nova was checked before the swap."""
        self.redeem()
        self.deployment.server_outcomes[self.server] = (
            ServerOutcome.UNSCHEDULED
        )
        self.call_at('before swap.commit', self.die)
        self.assertRaises(deployment.ProcessKilled, self.deployment.reap, 0)
        del self.deployment.server_outcomes[self.server]

        self.deployment.reap()

        self.assertEqual({'HELD': 3}, self.deployment.status_counts(self.uuid))
        self.delete_and_check()

    def test_deleted_group_is_kept_while_a_server_is_unknown_to_nova(self):
        """A server that Nova does not know yet may have an allocation."""
        self.redeem()
        self.deployment.server_outcomes[self.server] = (
            ServerOutcome.UNKNOWN_TO_NOVA
        )

        self.deployment.delete(self.uuid)
        self.deployment.reap()

        self.assertIsNotNone(self.deployment.find_group(self.uuid))
        self.assertIn(self.server, self.deployment.allocations())
        self.deployment.server_outcomes[self.server] = ServerOutcome.DELETED
        self.deployment.reap()
        self.assertIsNone(self.deployment.find_group(self.uuid))
        self.assertEqual({}, self.deployment.allocations())

    def test_planner_that_lost_its_lease_leaves_no_allocations(self):
        """The lease of one planner expires, and the other takes over."""
        self.deployment.delete(self.uuid)
        for point in (
            'before hold.post',
            'after hold.post',
            'before hold.commit',
        ):
            self.create_group(is_held=False)
            timeutils.advance_time_seconds(deployment.LATER)
            self.call_at(point, self.deployment.reap)

            self.deployment.plan(self.uuid)

            self.assertEqual(
                {'HELD': 3}, self.deployment.status_counts(self.uuid)
            )
            self.assertEqual(3, len(self.deployment.allocations()))
            self.delete_and_check()

    def test_release_wins_over_a_later_redeem(self):
        self.call_at(
            'before redeem.reserve',
            lambda: self.deployment.request_release(self.uuid, 'm-0'),
        )

        self.assertIn('it is RELEASED', self.refusal())

        self.delete_and_check()

    def test_redeem_wins_over_a_later_release(self):
        def give_up():
            self.assertRaises(
                exception.MemberStateConflict,
                releases.release_members,
                *arguments,
            )

        group = self.deployment.group(self.uuid)
        arguments = self.deployment.context, group, [group.members[0]]
        self.call_at('before redeem.transfer', give_up)

        self.redeem()

        self.assertIn(self.server, self.deployment.allocations())
        self.delete_and_check()

    def redeem_all(self, count):
        """Create several servers with one request; returns their uuids."""
        created = [uuidutils.generate_uuid() for _each in range(count)]
        self.deployment.redeem_all(self.uuid, 'm', created)
        return created

    def test_concurrent_redeems_by_member_set_get_different_members(self):
        faster = []
        self.call_at(
            'before redeem.reserve', lambda: faster.extend(self.redeem_all(1))
        )

        slower = self.redeem_all(2)

        self.assertEqual(
            {*faster, *slower}, set(self.deployment.allocations())
        )
        self.assertEqual(
            {'ACTIVE': 3}, self.deployment.status_counts(self.uuid)
        )

    def test_concurrent_redeems_of_too_many_members_admit_one(self):
        faster = []
        self.call_at(
            'before redeem.reserve', lambda: faster.extend(self.redeem_all(2))
        )

        error = self.assertRaises(nova_exc.NoValidHost, self.redeem_all, 2)

        self.assertIn('only 1 of the 3 members', str(error))
        self.assertEqual(
            {'ACTIVE': 2, 'HELD': 1}, self.deployment.status_counts(self.uuid)
        )
        self.assertLessEqual(set(faster), set(self.deployment.allocations()))

    def test_repeated_redeem_of_several_servers_redeems_once(self):
        created = [uuidutils.generate_uuid() for _each in range(2)]

        def deliver():
            self.deployment.redeem_all(self.uuid, 'm', created)

        for point in (
            'before redeem.reserve',
            'before redeem.transfer',
            'before redeem.commit',
            'after redeem.commit',
        ):
            self.call_at(point, deliver)

            deliver()
            deliver()

            self.assertEqual(
                {'ACTIVE': 2, 'HELD': 1},
                self.deployment.status_counts(self.uuid),
            )
            self.assertLessEqual(
                set(created), set(self.deployment.allocations())
            )
            self.deployment.delete(self.uuid)
            for server in created:
                self.deployment.delete_allocations(server)
            self.create_group()

    def test_redeem_of_several_partly_finished_by_the_reaper_succeeds(self):
        """The reaper resolves only one of the overdue redeems."""
        created = [uuidutils.generate_uuid() for _each in range(2)]

        def finish_one():
            timeutils.advance_time_seconds(deployment.LATER)
            first, *_others = redeem.list_overdue(self.deployment.context)
            reaper.resolve_redeem(
                self.deployment.context,
                self.deployment.placement_client(),
                first,
            )

        self.call_at('before redeem.transfer', finish_one)

        self.deployment.redeem_all(self.uuid, 'm', created)

        self.assertEqual(
            {'ACTIVE': 2, 'HELD': 1}, self.deployment.status_counts(self.uuid)
        )
        self.assertEqual(
            set(created), set(created) & set(self.deployment.allocations())
        )

    def test_redeem_of_several_with_a_lost_hold_takes_all_back(self):
        """Nova builds none of the servers, so that none may keep capacity."""
        created = [uuidutils.generate_uuid() for _each in range(2)]
        stranger = []

        def take():
            hold = self.deployment.hold(self.uuid, 'm-2')
            self.deployment.delete_allocations(hold.uuid)
            stranger.append(self.deployment.fill(self.small_provider))

        self.deployment.request_release(self.uuid, 'm-0')
        self.deployment.release(self.uuid)
        self.call_at('before redeem.transfer', take)

        error = self.assertRaises(
            nova_exc.NoValidHost,
            self.deployment.redeem_all,
            *(self.uuid, 'm', created),
        )

        self.assertIn('its hold was lost', str(error))
        self.deployment.reap()
        self.assertEqual(
            {'RELEASED': 1, 'HELD': 1, 'FAILED': 1},
            self.deployment.status_counts(self.uuid),
        )
        self.assertEqual(
            set(), set(created) & set(self.deployment.allocations())
        )
        self.deployment.delete_allocations(*stranger)
        self.delete_and_check()

    def test_reaper_does_not_disturb_a_slow_redeem(self):
        for point in ('before redeem.transfer', 'after redeem.transfer'):
            self.call_at(point, lambda: self.deployment.reap(0))
            self.redeem()
            self.assertEqual(
                {'HELD': 2, 'ACTIVE': 1},
                self.deployment.status_counts(self.uuid),
            )
            self.delete_and_check()
            self.deployment.delete_allocations(self.server)
            self.create_group()
