# SPDX-License-Identifier: Apache-2.0
"""Policies at all locations where moves and resizes may end."""

from oslotest import base

from nova_groupext import exception
from nova_groupext.scheduler.current import locations
from nova_groupext.scheduler.decide import end_states
from tests import groups


class TestEndStates(base.BaseTestCase):
    """Members ``a`` on x and ``b`` on y, which never share a host."""

    def ends(self, resizes=None, targets=None):
        group = groups.unstored(
            subgroups=[],
            **groups.single_members('ab'),
            policies=[
                groups.policy('', {'type': 'anti-affinity', 'scope': 'host'})
            ],
            relationships=[],
        )
        placement = {
            'a': groups.placement('x', 1),
            'b': groups.placement('y', 1),
        }
        current = {
            path: locations.Location(each.host, each.node)
            for path, each in placement.items()
        }
        resizes = {
            path: locations.Location(host, host)
            for path, host in (resizes or {}).items()
        }
        targets = {
            path: {locations.Location(host, host)}
            for path, host in (targets or {}).items()
        }
        present = locations.MemberLocations(current, targets, {})
        return end_states.EndStates(None, group, placement, resizes, present)

    def test_resizes_to_one_host_are_rejected(self):
        for resizes, unwelcome in (
            ({'a': 'z'}, set()),
            ({'a': 'x'}, set()),
            ({'a': 'z', 'b': 'z'}, {'a', 'b'}),
        ):
            found = self.ends(resizes).rejected_members(resizes)
            self.assertEqual(unwelcome, found, resizes)

    def test_resizes_that_exchange_hosts_are_rejected(self):
        """Either may be resized first."""
        resizes = {'a': 'y', 'b': 'x'}
        self.assertEqual({*'ab'}, self.ends(resizes).rejected_members(resizes))

    def test_resize_to_the_target_of_a_move_is_rejected(self):
        moving = self.ends(targets={'a': 'y'})
        self.assertEqual({'b'}, moving.rejected_members({'b': 'y'}))
        self.assertEqual({'a'}, {*moving.moving})

    def test_move_to_the_host_of_another_member_conflicts(self):
        self.ends(targets={'a': 'z'}).check()
        error = self.assertRaises(
            exception.MemberStateConflict, self.ends(targets={'a': 'y'}).check
        )
        self.assertIn('Member a ', error.format_message())

    def test_successor_is_rejected_where_its_member_will_be_missed(self):
        """Both racks are used with the successor, one after ``a`` is gone."""
        spread = {'type': 'spread', 'scope': 'host', 'min_domains': 2}
        for host, rejected in (('y', {'a+'}), ('z', set())):
            ends = self.replaced(spread, host)
            self.assertEqual(rejected, ends.rejected_members({'a+': host}))

    def test_member_is_rejected_where_another_will_be_missed(self):
        """Hosts differ by one while ``a`` is there, and then by two."""
        spread = {'type': 'spread', 'scope': 'host', 'max_skew': 1}
        for host, rejected in (('y', {'c'}), ('x', set())):
            ends = self.replaced(spread, 'y', c=host, d='x')
            self.assertEqual(rejected, ends.rejected_members({'c': host}))

    def replaced(self, policy, host, **others):
        members = groups.single_members(['a', 'b', 'a+', *others])
        members['members'][2].succeeds = 'a'
        group = groups.unstored(
            subgroups=[],
            **members,
            policies=[groups.policy('', policy)],
            relationships=[],
        )
        placements = {
            path: groups.placement(each, 1)
            for path, each in (
                *(('a', 'x'), ('b', 'y'), ('a+', host)),
                *others.items(),
            )
        }
        present = locations.MemberLocations({}, {}, {})
        return end_states.EndStates(None, group, placements, {}, present)

    def test_conflict_names_all_moving_members(self):
        error = end_states.conflict({'b', 'a'})

        self.assertIn('Members a, b are moving: ', error.format_message())

    def test_members_without_moves_are_not_checked(self):
        settled = self.ends()
        settled.check()
        self.assertEqual(set(), settled.rejected_members({'b': 'x'}))
