# SPDX-License-Identifier: Apache-2.0
"""Who is welcome where servers may come to be, and is a plan lawful there?"""

from oslotest import base

from nova_groupext import exception
from nova_groupext.scheduler.current import locations
from nova_groupext.scheduler.decide import end_states
from tests import groups


class TestEnds(base.BaseTestCase):
    """Members ``a`` on x and ``b`` on y, which never share a host."""

    def ends(self, resizes=None, targets=None):
        group = groups.described(
            subgroups=[],
            members=[groups.member(path, path, {}) for path in 'ab'],
            policies=[
                groups.policy('', {'type': 'anti-affinity', 'scope': 'host'})
            ],
            relationships=[],
        )
        placement = {'a': groups.seat('x', 1), 'b': groups.seat('y', 1)}
        seats = {
            path: locations.Location(seat['host'], seat['node'])
            for path, seat in placement.items()
        }
        resizes = {
            path: locations.Location(host, host)
            for path, host in (resizes or {}).items()
        }
        targets = {
            path: {locations.Location(host, host)}
            for path, host in (targets or {}).items()
        }
        now = locations.MemberLocations(seats, targets, {})
        return end_states.EndStates(None, group, placement, resizes, now)

    def test_who_shares_a_host_with_one_who_may_be_there_is_unwelcome(self):
        for resizes, unwelcome in (
            ({'a': 'z'}, set()),
            ({'a': 'x'}, set()),
            ({'a': 'z', 'b': 'z'}, {'a', 'b'}),
        ):
            found = self.ends(resizes).unwelcome(resizes)
            self.assertEqual(unwelcome, found, resizes)

    def test_two_do_not_change_places(self):
        """Either may be resized first."""
        resizes = {'a': 'y', 'b': 'x'}
        self.assertEqual({*'ab'}, self.ends(resizes).unwelcome(resizes))

    def test_nobody_comes_where_another_may_move(self):
        moving = self.ends(targets={'a': 'y'})
        self.assertEqual({'b'}, moving.unwelcome({'b': 'y'}))
        self.assertEqual({'a'}, {*moving.moving})

    def test_a_move_may_not_end_beside_one_who_stays(self):
        self.ends(targets={'a': 'z'}).check()
        error = self.assertRaises(
            exception.MemberStateConflict, self.ends(targets={'a': 'y'}).check
        )
        self.assertIn('Member a ', error.format_message())

    def test_those_who_move_are_named_together(self):
        error = end_states.conflict({'b', 'a'})

        self.assertIn('Members a, b are moving: ', error.format_message())

    def test_what_is_at_rest_is_not_looked_at(self):
        settled = self.ends()
        settled.check()
        self.assertEqual(set(), settled.unwelcome({'b': 'x'}))
