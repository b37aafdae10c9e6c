# SPDX-License-Identifier: Apache-2.0
"""Locations of members whose servers move, leave or come back."""

import dataclasses

from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.objects import move_transitions
from nova_groupext.objects import releases
from nova_groupext.objects import states
from nova_groupext.scheduler.current import locations
from tests import groups
from tests.unit.objects import base

Member = states.Member
Location = locations.Location


class TestMemberLocations(base.HeldGroupTestCase):
    def setUp(self):
        super().setUp()
        self.group = self.create_held_group()
        self.first, self.second, _third = self.group.members
        self.first.change(
            self.context,
            Member.REDEEMING,
            server_uuid=uuidutils.generate_uuid(),
        )
        self.complete_redeem(self.first)

    def read_locations(self):
        return locations.read(self.context, self.group)

    def start_move(self, host, **kwargs):
        move = objects.VRTMove(
            group_id=self.group.id,
            member_id=self.first.id,
            server_uuid=self.first.server_uuid,
            host=host,
            node=f'{host}.node',
        )
        return move, move_transitions.start_move(self.context, move, **kwargs)

    def hold_of(self, member):
        return objects.VRTHold.find_by_member(self.context, member.id)

    def store_location(self, hold, host):
        placement = dataclasses.replace(
            groups.placement(host, 1),
            provider=uuidutils.generate_uuid(),
            domains={'host': host},
        )
        return move_transitions.store_location(
            self.context, self.first, hold, placement
        )

    def generation(self):
        return self.get(self.group).generation

    def test_member_is_located_at_its_hold(self):
        nodes = self.read_locations().nodes()

        self.assertEqual({each.path for each in self.group.members}, {*nodes})
        self.assertEqual(
            {self.hold_of(self.second).node}, nodes['workers/worker-0']
        )

    def test_moving_member_has_two_locations(self):
        source = self.hold_of(self.first).node

        self.start_move('target')

        now = self.read_locations()
        self.assertEqual({source, 'target.node'}, now.nodes()['master'])
        self.assertEqual('target', now.host_names['target.node'])
        self.assertNotIn('master', now.nodes(excluded='master'))

    def test_forbidden_move_is_not_written(self):
        before = self.generation()

        _move, is_started = self.start_move('target', is_allowed=lambda: False)

        self.assertFalse(is_started)
        self.assertEqual({}, self.read_locations().destinations)
        self.assertEqual(before, self.generation())

    def test_move_is_checked_with_the_moves_before_it(self):
        checked = []

        self.start_move('one')
        self.start_move(
            'two',
            is_allowed=lambda: checked.append(self.read_locations()) or True,
        )

        [now] = checked
        self.assertEqual(
            {Location('one', 'one.node')}, now.destinations['master']
        )

    def test_move_increments_the_generation(self):
        before = self.generation()

        self.start_move('target')

        self.assertEqual(before + 1, self.generation())

    def test_move_of_a_deleted_group_is_not_written(self):
        self.delete(self.group)

        _move, is_started = self.start_move('target')

        self.assertFalse(is_started)

    def test_moves_are_deleted_with_their_group(self):
        self.start_move('target')
        self.delete(self.group)

        moves = objects.VRTMove.by_member(self.context, [self.first.id])
        self.assertEqual({}, moves)

    def test_only_ended_moves_are_deleted(self):
        ended, _ = self.start_move('one')
        self.start_move('two')

        objects.VRTMove.delete_all(self.context, [ended])

        self.assertEqual(
            {'master': {Location('two', 'two.node')}},
            self.read_locations().destinations,
        )

    def test_failed_member_has_no_move(self):
        self.start_move('target')
        self.first.change(self.context, Member.FAILED)

        self.assertEqual({}, self.read_locations().destinations)
        objects.VRTMove.delete_unowned(self.context)

        moves = objects.VRTMove.by_member(self.context, [self.first.id])
        self.assertEqual({}, moves)

    def test_hold_and_plan_get_the_location_of_a_moved_server(self):
        plan = objects.VRTPlan(
            group_id=self.group.id,
            status=objects.VRTPlan.PLACED,
            placements={
                'master': groups.placement('old', 1),
                'other': groups.placement('x', 1),
            },
            answer={},
        )
        plan.create(self.context)

        self.assertTrue(self.store_location(self.hold_of(self.first), 'new'))

        hold = self.hold_of(self.first)
        self.assertEqual(
            ('new', 'new', states.Hold.REDEEMED),
            (hold.host, hold.node, hold.status),
        )
        placements = plan.find_newest(self.context, self.group.id).placements
        self.assertEqual(
            {'master': 'new', 'other': 'x'},
            {path: each.host for path, each in placements.items()},
        )

    def test_outdated_location_of_a_server_is_not_written(self):
        stale = self.hold_of(self.first)
        self.store_location(self.hold_of(self.first), 'new')

        self.assertFalse(self.store_location(stale, 'late'))
        self.assertEqual('new', self.hold_of(self.first).host)

    def test_shelved_member_has_no_location_until_it_is_unshelved(self):
        self.end_hold(self.first, Member.SHELVED)
        self.assertNotIn('master', self.read_locations().locations)

        self.assertTrue(self.store_location(None, 'new'))

        self.assertEqual(
            Location('new', 'new'), self.read_locations().locations['master']
        )
        fresh = self.get(self.group).members[0]
        self.assertEqual(Member.ACTIVE, fresh.status)
        self.assertEqual(self.first.server_uuid, fresh.server_uuid)

    def test_a_group_of_shelved_servers_is_active(self):
        releases.release_members(self.context, self.get(self.group))

        self.end_hold(self.first, Member.SHELVED)

        self.assertEqual(states.Group.ACTIVE, self.get(self.group).status)

    def test_drift_is_stored_unless_the_group_has_changed(self):
        drift = [{'at': '', 'policy': {'type': 'affinity', 'scope': 'zone'}}]
        group = self.get(self.group)

        self.assertTrue(
            move_transitions.store_drift(self.context, group, drift)
        )
        self.assertEqual(drift, self.get(group).drift)
        self.assertEqual(group.generation, self.generation())

        self.start_move('target')
        self.assertFalse(move_transitions.store_drift(self.context, group, []))
