# SPDX-License-Identifier: Apache-2.0
"""Moves that begin after their group has changed."""

import datetime
import types

import fixtures
from nova import exception as nova_exc
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.objects import drafts
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.scheduler.current import locations
from nova_groupext.scheduler.move import destinations
from tests import groups
from tests.unit.objects import base

NOON = datetime.datetime(2026, 11, 1, 12)
NO_RACKS = {'policies': [], 'relationships': []}


class TestMove(base.HeldGroupTestCase):
    def setUp(self):
        super().setUp()
        group = self.create(**NO_RACKS)
        holds = groups.create_holds(self.context, group)
        groups.hold_all(self.context, group, holds, None)
        self.group = self.get(group)
        self.first, self.second, _third = self.group.members
        self.first.change(
            self.context,
            states.Member.REDEEMING,
            server_uuid=uuidutils.generate_uuid(),
        )
        self.complete_redeem(self.first)
        self.group = self.get(self.group)
        hold = objects.VRTHold.find_by_member(self.context, self.second.id)
        self.location = locations.Location(hold.host, hold.node)
        self.move = destinations.Move(
            self.context, self.group, self.group.members[0], {self.location}
        )

    def revise(self, **described):
        draft = groups.unstored(**{**NO_RACKS, **described})
        drafts.store(self.context, self.group, draft)
        plan = objects.VRTPlan(
            group_id=draft.id,
            status=objects.VRTPlan.PLACED,
            placements={},
            answer={},
        )
        plan.create(self.context)
        lease = groups.acquire_lease(self.context, self.group)
        revisions.commit(
            *(self.context, lease, self.group, draft),
            *(swaps.Swap([], []), lambda: None),
        )
        lease.release(self.context)

    def test_move_to_an_allowed_host_begins(self):
        self.assertTrue(self.move.allows(self.location))
        self.assertIsNotNone(self.move.start(self.context, self.location))

    def claim(self, claim_resources):
        request = types.SimpleNamespace(move=self.move, location=self.location)
        return destinations.claim(self.context, request, claim_resources)

    def moves(self):
        return objects.VRTMove.list_by_group(self.context, self.group.id)

    def test_move_refused_by_placement_is_deleted(self):
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

    def test_move_that_breaks_a_new_policy_does_not_begin(self):
        apart = {'type': 'anti-affinity', 'scope': 'host'}
        self.revise(policies=[groups.policy('', apart)])

        self.assertIsNone(self.move.start(self.context, self.location))

    def test_move_begins_although_a_member_was_added(self):
        new = groups.member_set('new')
        member_sets = [*groups.unstored().member_sets, new]
        self.revise(**groups.members_of(*member_sets))

        self.assertIsNotNone(self.move.start(self.context, self.location))

    def test_server_of_a_deleted_group_is_no_member(self):
        self.group.mark_deleted(self.context)
        self.assert_no_member(exception.GroupNotFound)

    def test_server_of_a_purged_group_is_no_member(self):
        self.delete(self.group)
        self.assert_no_member(exception.GroupNotFound)

    def test_server_removed_from_its_group_is_no_member(self):
        others = groups.unstored().member_sets[1:]
        self.revise(**groups.members_of(*others), keep_server=True)
        self.assert_no_member(exception.MemberNotFound)

    def assert_no_member(self, error):
        self.assertRaises(error, self.move.start, self.context, self.location)
        self.assertEqual(
            [], objects.VRTMove.list_by_group(self.context, self.group.id)
        )


class TestExclusive(base.HeldGroupTestCase):
    """Hosts with free capacity, but without a reservation for the server."""

    def allowed(self, *policies, allows=lambda _location: True):
        group = self.create(policies=[*policies], relationships=[])
        found = group, group.members[0]
        any_move = types.SimpleNamespace(allows=allows)
        for owner, name, replacement in (
            (destinations.utils, 'request_is_rebuild', lambda _spec: False),
            (destinations, 'find_member', lambda *_args: found),
            (destinations, 'Move', lambda *_args: any_move),
        ):
            self.useFixture(fixtures.MockPatchObject(owner, name, replacement))
        host = types.SimpleNamespace(
            uuid=uuidutils.generate_uuid(),
            host='cmp-1',
            nodename='cmp-1',
            allocation_candidates=[{'allocations': {}, 'mappings': {}}],
        )
        ref = types.SimpleNamespace(
            group=group.uuid, _asdict=lambda: {'group': '', 'member': ''}
        )
        spec = types.SimpleNamespace(instance_uuid=uuidutils.generate_uuid())
        return destinations.allowed_hosts(self.context, ref, spec, [host])

    def test_member_of_an_exclusive_group_needs_a_reservation(self):
        exclusive = groups.policy('', {'type': 'exclusive', 'scope': 'host'})

        self.assertEqual([], self.allowed(exclusive))
        self.assertEqual(1, len(self.allowed()))

    def test_no_host_is_allowed_under_a_policy_that_is_unknown_here(self):
        def judge(_location):
            raise exception.UnknownPolicyType(types='moon-phase')

        self.assertEqual([], self.allowed(allows=judge))
