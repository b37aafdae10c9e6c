# SPDX-License-Identifier: Apache-2.0
"""Are as few moved as possible, and only those that may be?"""

from oslotest import base

from nova_groupext.solver.moves import minimum_moves
from nova_groupext.solver.policies import violations
from nova_groupext.solver.solve import stages
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy

# Full hosts: what the members have is all there is, but for one place each.
HOSTS = builders.racks(a=(1, 1), b=(1, 1))


class TestFewest(base.BaseTestCase):
    def propose(self, topology, home, movable=None, hosts=HOSTS):
        """Return (status, {path: where it moves})."""
        problem = builders.problem(hosts, topology)
        smaller = minimum_moves.problem_of(
            problem, home, set(home) if movable is None else movable
        )
        answer = stages.solve(smaller)
        if answer.status == 'placed':
            plan = violations.Plan(answer.placement, answer.alternative)
            self.assertEqual([], violations.find(smaller, plan))
        return answer.status, minimum_moves.moves(answer, home)

    def test_nobody_moves_where_nothing_is_broken(self):
        apart = group([policy('anti-affinity', 'host')], m=3)
        home = {'m-0': 'b2', 'm-1': 'b1', 'm-2': 'a2'}

        self.assertEqual(('placed', {}), self.propose(apart, home))

    def test_one_moves_where_one_is_enough(self):
        apart = group([policy('anti-affinity', 'host')], m=3)
        home = {'m-0': 'a1', 'm-1': 'a1', 'm-2': 'b1'}

        status, moves = self.propose(apart, home)

        self.assertEqual('placed', status)
        [(path, host)] = moves.items()
        self.assertIn(path, {'m-0', 'm-1'})
        self.assertIn(host, {'a2', 'b2'})

    def test_the_minority_moves(self):
        together = group([policy('affinity', 'rack')], m=3)
        home = {'m-0': 'a1', 'm-1': 'a2', 'm-2': 'b1'}

        status, moves = self.propose(together, home)

        self.assertEqual(('placed', ['m-2']), (status, [*moves]))

    def test_soft_policies_move_nobody(self):
        soft = group([policy('anti-affinity', 'host', strict=False)], m=2)
        home = {'m-0': 'a1', 'm-1': 'a1'}

        self.assertEqual(('placed', {}), self.propose(soft, home))

    def test_who_may_not_move_stays(self):
        apart = group([policy('anti-affinity', 'host')], m=2)
        home = {'m-0': 'a1', 'm-1': 'a1'}

        status, moves = self.propose(apart, home, movable={'m-1'})

        self.assertEqual(('placed', ['m-1']), (status, [*moves]))
        self.assertEqual(
            ('refused', {}), self.propose(apart, home, movable=set())
        )

    def test_who_has_no_place_is_left_out(self):
        apart = group([policy('anti-affinity', 'host')], m=9)
        home = {'m-0': 'a1', 'm-7': 'a1'}

        status, moves = self.propose(apart, home)

        self.assertEqual(('placed', 1), (status, len(moves)))

    def test_a_host_that_takes_nobody_any_more_may_be_stayed_on(self):
        full = builders.racks(a=(0, 0), b=(0, 0))
        apart = group([policy('anti-affinity', 'host')], m=2)
        home = {'m-0': 'a1', 'm-1': 'b1'}

        self.assertEqual(('placed', {}), self.propose(apart, home, hosts=full))
