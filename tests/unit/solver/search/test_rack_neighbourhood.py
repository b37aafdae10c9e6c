# SPDX-License-Identifier: Apache-2.0
"""Plans with more members, from plans that leave some out."""

import fixtures
from oslotest import base

from nova_groupext.solver import tuning
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.search import incumbent
from nova_groupext.solver.search import rack_neighbourhood
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

CLASSES = {'two': {'request': {'VCPU': 2}}}


def optional(count, name='one', least=0):
    return {'class': name, 'count': count, 'min_count': least}


class TestSearch(base.BaseTestCase):
    def search(self, hosts, topology, placement, seconds=60, **others):
        """Return the plans on the way, and the last incumbent."""
        problem = builders.problem(hosts, topology, CLASSES, **others)
        best = incumbent.Incumbent(problem, violations.Plan(placement, {}))
        found = []
        budget = time_budget.TimeBudget(seconds)
        for plan in rack_neighbourhood.search(best, budget):
            self.assertEqual([], violations.find(problem, plan))
            best.offer(plan)
            found.append(plan)
        return found, best.plan.placement

    def test_members_without_a_host_are_placed(self):
        _, last = self.search(
            racks(a=(2,), b=(2,)), group(w=optional(5)), {'w-0': 'a1'}
        )
        self.assertEqual(4, len(last))

    def test_members_move_for_more_members(self):
        # Only if both racks are decided anew.
        _, last = self.search(
            racks(a=(2,), b=(2,)),
            group(w=optional(2), x=optional(1, 'two')),
            {'w-0': 'a1', 'w-1': 'b1'},
        )
        self.assertEqual({'w-0', 'w-1', 'x-0'}, {*last})

    def test_other_racks_are_left_alone(self):
        self.useFixture(fixtures.MockPatchObject(tuning, 'INITIAL_RACKS', 1))
        found, last = self.search(
            racks(a=(2,), b=(2,), c=(1,)),
            group(w=optional(2), x=optional(2, 'two')),
            {'w-0': 'a1', 'w-1': 'b1'},
        )
        left = {'w-0': 'a1', 'w-1': 'b1'}.items() - found[0].placement.items()
        self.assertLessEqual(len(left), 1)
        self.assertEqual(3, len(last))

    def test_complete_plan_is_not_searched(self):
        found, _ = self.search(
            racks(a=(2,)), group(w=optional(1)), {'w-0': 'a1'}
        )
        self.assertEqual([], found)

    def test_search_ends_after_some_passes(self):
        found, _ = self.search(
            racks(a=(2,), b=(2,)),
            group([policy('anti-affinity', 'host')], w=optional(3)),
            {'w-0': 'a1', 'w-1': 'b1'},
        )
        self.assertTrue(1 <= len(found) <= 8, len(found))

    def test_search_ends_when_no_plan_can_have_more_members(self):
        found, _ = self.search(
            racks(a=(1,), b=(1,)),
            group(w=optional(3)),
            {'w-0': 'a1', 'w-1': 'b1'},
        )
        self.assertEqual([], found)

    def test_without_time_the_plan_stays(self):
        found, last = self.search(
            racks(a=(2,)), group(w=optional(2)), {'w-0': 'a1'}, seconds=0
        )
        self.assertEqual(([], 1), (found, len(last)))

    def test_too_short_program_makes_steps_smaller(self):
        self.useFixture(fixtures.MockPatchObject(tuning, 'RACKS_SECONDS', 0))
        problem = builders.problem(
            racks(a=(1,), b=(1,), c=(1,)), group(w=optional(9)), CLASSES
        )
        best = incumbent.Incumbent(problem, violations.Plan({}, {}))
        searched = rack_neighbourhood._Racks(best)
        self.assertEqual(2, searched.number)
        plan = searched.step(time_budget.TimeBudget(60))
        self.assertEqual(({}, 1), (plan.placement, searched.number))

    def test_strict_policies_and_pins_are_kept(self):
        _, last = self.search(
            racks(a=(1, 1), b=(4, 4)),
            group([policy('affinity', 'rack')], w=optional(6)),
            {'w-0': 'a1', 'w-1': 'a2'},
            pinned={'w-0': 'a1'},
        )
        self.assertEqual({'w-0': 'a1'}, {'w-0': last['w-0']})
        self.assertEqual({'a'}, {host[0] for host in last.values()})

    def test_cloud_without_racks_is_searched_by_zones_or_hosts(self):
        for zone in ('z', None):
            hosts = [builders.host(n, zone=zone, cpu=1) for n in 'ab']
            _, last = self.search(hosts, group(w=optional(3)), {'w-0': 'a'})
            self.assertEqual(['a', 'b'], sorted(last.values()))

    def test_hosts_without_a_rack_are_not_decided_anew(self):
        hosts = [builders.host('n1', cpu=1), *racks(a=(1,))]
        _, last = self.search(hosts, group(w=optional(3)), {'w-0': 'n1'})
        self.assertEqual({'n1', 'a1'}, set(last.values()))
