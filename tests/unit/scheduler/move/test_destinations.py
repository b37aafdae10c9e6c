# SPDX-License-Identifier: Apache-2.0
"""Does a move that begins heed what has happened since its filter looked?"""

import datetime
import types

from nova import exception as nova_exc
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.scheduler.current import locations
from nova_groupext.scheduler.move import destinations
from tests import groups
from tests.unit.objects import base

NOON = datetime.datetime(2026, 11, 1, 12)
NO_RACKS = {'policies': [], 'relationships': []}


class TestMove(base.HeldCase):
    def setUp(self):
        super().setUp()
        group = self.create(**NO_RACKS)
        holds = groups.holds(self.context, group)
        groups.hold(self.context, group, holds, None)
        self.group = self.get(group)
        self.first, self.second, _third = self.group.members
        self.first.change(
            self.context,
            states.Member.REDEEMING,
            server_uuid=uuidutils.generate_uuid(),
        )
        self.become_server(self.first)
        self.group = self.get(self.group)
        hold = objects.VRTHold.get_by_member(self.context, self.second.id)
        self.seat = locations.Location(hold.host, hold.node)
        self.move = destinations.Move(
            self.context, self.group, self.group.members[0], {self.seat}
        )

    def revise(self, **described):
        draft = groups.described(**{**NO_RACKS, **described})
        revisions.start(self.context, self.group, draft)
        plan = objects.VRTPlan(
            group_id=draft.id,
            status=objects.VRTPlan.PLACED,
            placement={},
            answer={},
        )
        plan.create(self.context)
        lease = groups.lease(self.context, self.group)
        revisions.commit(
            *(self.context, lease, self.group, draft),
            *(swaps.Swap([], []), lambda: None),
        )
        lease.release(self.context)

    def test_it_goes_where_it_was_let(self):
        self.assertTrue(self.move.allows(self.seat))
        self.assertIsNotNone(self.move.begin(self.context, self.seat))

    def claim(self, claim_resources):
        request = types.SimpleNamespace(move=self.move, seat=self.seat)
        return destinations.claim(self.context, request, claim_resources)

    def moves(self):
        return objects.VRTMove.list_by_group(self.context, self.group.id)

    def test_a_move_that_is_refused_is_forgotten(self):
        self.assertFalse(self.claim(lambda: False))
        self.assertEqual([], self.moves())

    def test_a_move_whose_claim_is_not_answered_is_kept(self):
        self.assertFalse(self.claim(lambda: None))
        self.assertEqual(1, len(self.moves()))

    def test_a_move_whose_claim_fails_is_kept(self):
        def claim_resources():
            raise nova_exc.NoValidHost(reason='not known')

        self.assertRaises(nova_exc.NoValidHost, self.claim, claim_resources)
        self.assertEqual(1, len(self.moves()))

    def test_a_policy_that_came_meanwhile_is_kept(self):
        apart = {'type': 'anti-affinity', 'scope': 'host'}
        self.revise(policies=[groups.policy('', apart)])

        self.assertIsNone(self.move.begin(self.context, self.seat))

    def test_a_member_that_came_meanwhile_counts(self):
        new = groups.member('new', 'new', {})
        self.revise(members=[*groups.described().members, new])

        self.assertIsNotNone(self.move.begin(self.context, self.seat))

    def test_a_server_whose_group_is_deleted_is_nobodys(self):
        self.group.mark_deleted(self.context)
        self.assert_nobodys(exception.GroupNotFound)

    def test_a_server_whose_group_is_forgotten_is_nobodys(self):
        self.forget(self.group)
        self.assert_nobodys(exception.GroupNotFound)

    def test_a_server_that_has_left_the_group_is_nobodys(self):
        others = groups.described().members[1:]
        self.revise(members=others, keep_server=True)
        self.assert_nobodys(exception.MemberNotFound)

    def assert_nobodys(self, error):
        self.assertRaises(error, self.move.begin, self.context, self.seat)
        self.assertEqual(
            [], objects.VRTMove.list_by_group(self.context, self.group.id)
        )
