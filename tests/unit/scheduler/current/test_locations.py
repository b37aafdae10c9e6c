# SPDX-License-Identifier: Apache-2.0
"""Where is everybody, while servers move, rest, leave and come back?"""

from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.objects import relocation
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.scheduler.current import locations
from tests import groups
from tests.unit.objects import base

Member = states.Member
Seat = locations.Location


class TestPositions(base.HeldCase):
    def setUp(self):
        super().setUp()
        self.group = self.held()
        self.first, self.second, _third = self.group.members
        self.first.change(
            self.context,
            Member.REDEEMING,
            server_uuid=uuidutils.generate_uuid(),
        )
        self.become_server(self.first)

    def now(self):
        return locations.of(self.context, self.group)

    def begin(self, host, **kwargs):
        move = objects.VRTMove(
            group_id=self.group.id,
            member_id=self.first.id,
            server_uuid=self.first.server_uuid,
            host=host,
            node=f'{host}.node',
        )
        return move, relocation.begin_move(self.context, move, **kwargs)

    def hold_of(self, member):
        return objects.VRTHold.get_by_member(self.context, member.id)

    def follow(self, hold, host):
        seat = {
            **groups.seat(host, 1),
            'provider': uuidutils.generate_uuid(),
            'domains': {'host': host},
        }
        return relocation.follow(self.context, self.first, hold, seat)

    def generation(self):
        return self.get(self.group).generation

    def test_a_member_is_where_its_hold_is(self):
        nodes = self.now().nodes()

        self.assertEqual({each.path for each in self.group.members}, {*nodes})
        self.assertEqual(
            {self.hold_of(self.second).node}, nodes['workers/worker-0']
        )

    def test_a_member_that_moves_is_at_two_places(self):
        source = self.hold_of(self.first).node

        self.begin('target')

        now = self.now()
        self.assertEqual({source, 'target.node'}, now.nodes()['master'])
        self.assertEqual('target', now.names['target.node'])
        self.assertNotIn('master', now.nodes(besides='master'))

    def test_what_is_not_allowed_is_not_written(self):
        before = self.generation()

        _move, is_begun = self.begin('target', is_allowed=lambda: False)

        self.assertFalse(is_begun)
        self.assertEqual({}, self.now().targets)
        self.assertEqual(before, self.generation())

    def test_a_move_is_judged_when_no_other_can_begin(self):
        seen = []

        self.begin('one')
        self.begin('two', is_allowed=lambda: seen.append(self.now()) or True)

        [now] = seen
        self.assertEqual({Seat('one', 'one.node')}, now.targets['master'])

    def test_a_move_ends_what_was_planned_before_it(self):
        before = self.generation()

        self.begin('target')

        self.assertEqual(before + 1, self.generation())

    def test_of_a_group_that_is_gone_nothing_is_written(self):
        self.forget(self.group)

        _move, is_begun = self.begin('target')

        self.assertFalse(is_begun)

    def test_a_group_is_forgotten_with_its_moves(self):
        self.begin('target')
        self.forget(self.group)

        moves = objects.VRTMove.by_member(self.context, [self.first.id])
        self.assertEqual({}, moves)

    def test_only_the_moves_that_are_over_are_forgotten(self):
        over, _ = self.begin('one')
        self.begin('two')

        objects.VRTMove.forget(self.context, [over])

        self.assertEqual(
            {'master': {Seat('two', 'two.node')}}, self.now().targets
        )

    def test_who_lost_its_server_does_not_move(self):
        self.begin('target')
        self.first.change(self.context, Member.FAILED)

        self.assertEqual({}, self.now().targets)
        objects.VRTMove.forget_orphans(self.context)

        moves = objects.VRTMove.by_member(self.context, [self.first.id])
        self.assertEqual({}, moves)

    def test_hold_and_plan_follow_a_server(self):
        plan = objects.VRTPlan(
            group_id=self.group.id,
            status=objects.VRTPlan.PLACED,
            placement={'master': {'host': 'old'}, 'other': {'host': 'x'}},
            answer={},
        )
        plan.create(self.context)

        self.assertTrue(self.follow(self.hold_of(self.first), 'new'))

        hold = self.hold_of(self.first)
        self.assertEqual(
            ('new', 'new', states.Hold.REDEEMED),
            (hold.host, hold.node, hold.status),
        )
        placement = plan.newest(self.context, self.group.id).placement
        self.assertEqual(
            {'master': 'new', 'other': 'x'},
            {path: seat['host'] for path, seat in placement.items()},
        )

    def test_who_has_moved_again_is_not_followed_to_an_old_place(self):
        stale = self.hold_of(self.first)
        self.follow(self.hold_of(self.first), 'new')

        self.assertFalse(self.follow(stale, 'late'))
        self.assertEqual('new', self.hold_of(self.first).host)

    def test_who_is_shelved_is_nowhere_and_comes_back(self):
        self.end(self.first, Member.SHELVED)
        self.assertNotIn('master', self.now().seats)

        self.assertTrue(self.follow(None, 'new'))

        self.assertEqual(Seat('new', 'new'), self.now().seats['master'])
        fresh = self.get(self.group).members[0]
        self.assertEqual(Member.ACTIVE, fresh.status)
        self.assertEqual(self.first.server_uuid, fresh.server_uuid)

    def test_a_group_of_shelved_servers_is_active(self):
        transitions.give_up(self.context, self.get(self.group))

        self.end(self.first, Member.SHELVED)

        self.assertEqual(states.Group.ACTIVE, self.get(self.group).status)

    def test_drift_is_stored_unless_the_group_has_changed(self):
        drift = [{'at': '', 'policy': {'type': 'affinity', 'scope': 'zone'}}]
        group = self.get(self.group)

        self.assertTrue(relocation.note_drift(self.context, group, drift))
        self.assertEqual(drift, self.get(group).drift)
        self.assertEqual(group.generation, self.generation())

        self.begin('target')
        self.assertFalse(relocation.note_drift(self.context, group, []))
