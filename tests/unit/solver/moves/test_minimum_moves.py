# SPDX-License-Identifier: Apache-2.0
"""Plans that meet strict policies with the fewest moves."""

from oslotest import base

from nova_groupext.solver.model import violations
from nova_groupext.solver.moves import minimum_moves
from nova_groupext.solver.solve import decide
from nova_groupext.solver.solve import stages
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy

# Hosts with free capacity for one more member each, besides the members.
HOSTS = builders.racks(a=(1, 1), b=(1, 1))


class TestMinimumMoves(base.BaseTestCase):
    def propose(self, topology, current_hosts, movable=None, hosts=HOSTS):
        """Return (status, {path: where it moves})."""
        problem = builders.problem(hosts, topology)
        smaller = minimum_moves.make_problem(
            problem,
            current_hosts,
            set(current_hosts) if movable is None else movable,
        )
        answer = stages.solve(smaller)
        if answer.status == 'placed':
            plan = violations.Plan(answer.placement, answer.alternative)
            self.assertEqual([], violations.find(smaller, plan))
        return answer.status, minimum_moves.list_moves(answer, current_hosts)

    def test_met_policies_need_no_move(self):
        apart = group([policy('anti-affinity', 'host')], m=3)
        current_hosts = {'m-0': 'b2', 'm-1': 'b1', 'm-2': 'a2'}

        self.assertEqual(('placed', {}), self.propose(apart, current_hosts))

    def test_one_move_separates_a_pair(self):
        apart = group([policy('anti-affinity', 'host')], m=3)
        current_hosts = {'m-0': 'a1', 'm-1': 'a1', 'm-2': 'b1'}

        status, moves = self.propose(apart, current_hosts)

        self.assertEqual('placed', status)
        [(path, host)] = moves.items()
        self.assertIn(path, {'m-0', 'm-1'})
        self.assertIn(host, {'a2', 'b2'})

    def test_minority_of_the_members_moves(self):
        together = group([policy('affinity', 'rack')], m=3)
        current_hosts = {'m-0': 'a1', 'm-1': 'a2', 'm-2': 'b1'}

        status, moves = self.propose(together, current_hosts)

        self.assertEqual(('placed', ['m-2']), (status, [*moves]))

    def test_members_of_other_groups_are_ignored(self):
        near = policy('network-proximity', 'rack', strict=False)
        related = builders.tie('m', {'group': 'g'}, near)
        problem = builders.problem(
            HOSTS, group(m=1, relationships=[related]), outsiders={'g/c': 'b1'}
        )

        smaller = minimum_moves.make_problem(problem, {'m-0': 'a1'}, {'m-0'})

        answer = decide.decide(smaller, stages.solve)
        self.assertEqual({'m-0': 'a1'}, answer.placement)

    def test_broken_soft_policy_needs_no_move(self):
        soft = group([policy('anti-affinity', 'host', strict=False)], m=2)
        current_hosts = {'m-0': 'a1', 'm-1': 'a1'}

        self.assertEqual(('placed', {}), self.propose(soft, current_hosts))

    def test_immovable_member_stays(self):
        apart = group([policy('anti-affinity', 'host')], m=2)
        current_hosts = {'m-0': 'a1', 'm-1': 'a1'}

        status, moves = self.propose(apart, current_hosts, movable={'m-1'})

        self.assertEqual(('placed', ['m-1']), (status, [*moves]))
        self.assertEqual(
            ('refused', {}), self.propose(apart, current_hosts, movable=set())
        )

    def test_member_without_a_host_is_left_out(self):
        apart = group([policy('anti-affinity', 'host')], m=9)
        current_hosts = {'m-0': 'a1', 'm-7': 'a1'}

        status, moves = self.propose(apart, current_hosts)

        self.assertEqual(('placed', 1), (status, len(moves)))

    def test_members_may_stay_on_full_hosts(self):
        full = builders.racks(a=(0, 0), b=(0, 0))
        apart = group([policy('anti-affinity', 'host')], m=2)
        current_hosts = {'m-0': 'a1', 'm-1': 'b1'}

        self.assertEqual(
            ('placed', {}), self.propose(apart, current_hosts, hosts=full)
        )
