# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/redeem/reserve.py``."""

import time

from nova import exception as nova_exc
from oslo_utils import uuidutils

from nova_groupext.scheduler.protocol import hold_again
from nova_groupext.scheduler.redeem import reserve
from tests.unit.scheduler import base


class ReserveTestCase(base.ProtocolTestCase):
    def choose(self, *servers, refused=(), read_members=None):
        """Choose members for servers; returns [Choice]."""
        return reserve.choose(
            *(self.context, self.deployment.placement_client(), 'm'),
            read_members or self.read_members,
            *([*servers], refused),
        )

    def read_members(self):
        return self.deployment.group(self.uuid).members

    def refusal(self, *servers, **options):
        """Return the reason why members are refused to some servers."""
        error = self.assertRaises(
            nova_exc.NoValidHost, self.choose, *servers, **options
        )
        return str(error)

    def too_few(self, *servers):
        """Return the reason of an error that planners may avert."""
        raised = self.assertRaises(reserve.TooFewHeld, self.choose, *servers)
        return raised.reason


class TestChoose(ReserveTestCase):
    """Two equal members on one host."""

    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held(members=2)
        self.servers = [uuidutils.generate_uuid() for _each in range(3)]
        self.members = self.read_members()

    def chosen(self, *servers, **options):
        return [
            (each.server_uuid, each.member.path, each.hold.member_id)
            for each in self.choose(*servers, **options)
        ]

    def test_each_server_gets_a_free_member_and_its_hold(self):
        first, second, _third = self.servers

        chosen = self.chosen(first, second)

        self.assertEqual(
            [
                (first, 'm-0', self.members[0].id),
                (second, 'm-1', self.members[1].id),
            ],
            chosen,
        )
        self.assertEqual(['HELD', 'HELD'], self.hold_statuses(self.uuid))

    def test_member_with_the_lowest_index_is_chosen_before_an_older_one(self):
        older, newer = self.members
        older.update_row(self.context, path='m-10')
        newer.update_row(self.context, path='m-9')

        [(_server, path, _id)] = self.chosen(self.servers[0])

        self.assertEqual('m-9', path)

    def test_redelivered_request_gets_the_same_members(self):
        server = self.servers[0]
        self.deployment.redeem(self.uuid, 'm-1', server)

        self.assertEqual('m-1', self.chosen(server)[0][1])

    def test_request_that_is_being_undone_is_refused(self):
        first, second, _third = self.servers
        self.deployment.redeem(self.uuid, 'm-0', first)

        self.assertIn(reserve.BEING_UNDONE, self.refusal(first, second))

    def test_refused_host_is_left_out(self):
        refused = {self.members[0].id}

        chosen = self.chosen(self.servers[0], refused=refused)

        self.assertEqual('m-1', chosen[0][1])

    def test_too_few_members_besides_refused_ones_are_counted(self):
        error = self.assertRaises(
            reserve.NotEnoughMembers,
            *(self.choose, *self.servers[:2]),
            refused={self.members[0].id},
        )

        self.assertEqual([self.members[0].id], error.refused)

    def test_no_more_refused_members_are_told_than_are_missing(self):
        """Only these get other hosts."""
        first, second = (each.id for each in self.members)

        error = self.assertRaises(
            reserve.NotEnoughMembers,
            *(self.choose, self.servers[0]),
            refused={first, second},
        )

        self.assertEqual([first], error.refused)

    def test_refused_host_of_a_member_reserved_for_the_server_is_told(self):
        server, own = self.servers[0], self.members[1]
        own.update_row(self.context, reserved_for=server)
        self.assertEqual('m-1', self.chosen(server)[0][1])

        error = self.assertRaises(
            reserve.NotEnoughMembers, self.choose, server, refused={own.id}
        )

        self.assertEqual([own.id], error.refused)

    def test_more_servers_than_members_are_refused(self):
        self.assertIn('3', self.too_few(*self.servers))

    def test_hold_beyond_capacity_is_released_and_not_chosen(self):
        self.deployment.resize_provider(self.provider, 1)

        self.too_few(*self.servers[:2])

        self.assertEqual(
            ['FAILED', 'HELD'], sorted(self.statuses(self.uuid).values())
        )
        self.assertEqual(2, self.used(self.provider))


class TestOneMember(ReserveTestCase):
    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held(slots=2)
        self.server = uuidutils.generate_uuid()

    def prepare_swap(self):
        self.kill_at(
            'before swap.apply',
            hold_again.hold_again,
            *(self.context, self.deployment.placement_client()),
            self.acquire_lease(self.uuid),
            self.deployment.hold(self.uuid, 'm-0'),
        )

    def test_refusal_tells_why_the_member_is_not_free(self):
        self.deployment.request_release(self.uuid)

        self.assertIn('RELEASED', self.too_few(self.server))

    def test_member_in_a_swap_is_refused_after_5_seconds(self):
        self.prepare_swap()
        before = time.monotonic()

        self.assertIn(reserve.BEING_REVISED, self.refusal(self.server))

        self.assertEqual(5, round(time.monotonic() - before, 3))

    def test_refusal_of_any_member_of_the_group_names_the_group(self):
        error = reserve.refusal('', reserve.BEING_REVISED)

        self.assertIn('Member of the group could not', str(error))

    def reserve_for_server(self):
        """Reserve the member, as a planner does for a waiting create."""
        [member] = self.read_members()
        member.update_row(self.context, reserved_for=self.server)

    def test_reserved_member_in_a_swap_is_refused_after_5_seconds(self):
        self.reserve_for_server()
        self.prepare_swap()

        self.assertIn(reserve.BEING_REVISED, self.refusal(self.server))

    def test_reserved_member_whose_hold_overcommits_is_not_chosen(self):
        self.reserve_for_server()
        self.deployment.resize_provider(self.provider, 0)

        self.assertRaises(
            (nova_exc.NoValidHost, reserve.TooFewHeld),
            *(self.choose, self.server),
        )

        self.assertEqual({'m-0': 'FAILED'}, self.statuses(self.uuid))

    def test_member_is_chosen_once_its_swap_is_finished(self):
        self.prepare_swap()
        reads = iter((lambda: None, lambda: self.take_over(self.uuid)))

        def read_members():
            next(reads)()
            return self.read_members()

        [choice] = self.choose(self.server, read_members=read_members)

        self.assertEqual('HELD', choice.hold.status)


class TestReserve(ReserveTestCase):
    """Two members that must not share a host."""

    def setUp(self):
        super().setUp()
        self.first, self.second = (
            self.deployment.make_provider(2) for _each in range(2)
        )
        self.uuid = self.deployment.describe(
            [self.first, self.second], [base.APART]
        )
        self.deployment.plan(self.uuid)
        self.server = uuidutils.generate_uuid()

    def reserve(self, choices):
        return reserve.reserve(self.context, choices)

    def test_reserved_members_have_their_servers(self):
        [choice] = self.choose(self.server)

        self.assertTrue(self.reserve([choice]))

        self.assertEqual(
            {'m-0': 'REDEEMING', 'm-1': 'HELD'}, self.statuses(self.uuid)
        )
        member = self.deployment.member(self.uuid, 'm-0')
        self.assertEqual(self.server, member.server_uuid)

    def test_member_that_was_taken_meanwhile_is_not_reserved(self):
        other = uuidutils.generate_uuid()
        choices = self.choose(other, self.server)
        self.deployment.redeem(self.uuid, 'm-0')

        self.assertFalse(self.reserve(choices))

        self.assertEqual('HELD', self.statuses(self.uuid)['m-1'])

    def test_member_whose_policy_is_violated_is_refused(self):
        """The other server was moved past the scheduler."""
        moved = self.deployment.redeem(self.uuid, 'm-1')
        self.deployment.delete_allocations(moved)
        self.deployment.fill(self.first, consumer=moved)
        self.deployment.server_hosts[moved] = self.first
        self.deployment.reap(0)
        [choice] = self.choose(self.server)

        error = self.assertRaises(
            reserve.HostsFiltered, self.reserve, [choice]
        )

        self.assertEqual([choice], error.choices)
        self.assertEqual(reserve.VIOLATES_POLICY, error.reason)
        self.assertEqual('HELD', self.statuses(self.uuid)['m-0'])
