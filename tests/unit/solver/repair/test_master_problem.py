# SPDX-License-Identifier: Apache-2.0
"""Is every bundle allotted a domain, so that all may find room?"""

import fixtures
from oslotest import base

from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.policies import violations
from nova_groupext.solver.repair import colocation_groups
from nova_groupext.solver.repair import master_problem
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

NOTHING = violations.Plan({}, {})


class TestAllotment(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MockPatchObject(colocation_groups, '_FEW_DOMAINS', 1)
        )

    def allotment(self, hosts, groups, classes=None, **others):
        problem = builders.problem(
            hosts, group(groups=groups), classes, **others
        )
        self.finder = squeaky_wheel.SqueakyWheel(problem)
        return master_problem.DomainAssignment(
            self.finder, time_budget.TimeBudget(60)
        )

    def near(self, allotment, plan=NOTHING, seconds=60):
        """Path of the group and scope -> a host of its domain."""
        roomy = {
            propagator: set(range(99))
            for propagator in allotment.found.domains
        }
        homes = allotment.near(plan, roomy, time_budget.TimeBudget(seconds))
        hosts = self.finder.state.matrices.hosts
        return {
            (propagator.policy.at, propagator.policy.scope): hosts[
                propagator.domains[home][0]
            ]
            for propagator, home in homes.items()
        }

    def together(self, *scopes, groups=None, **members):
        rules_ = [policy('affinity', scope) for scope in scopes]
        return group(rules_, groups=groups, **members)

    def test_each_gets_a_domain_of_its_own_where_there_is_room_for_one(self):
        # Whoever came first would take the larger one.
        allotment = self.allotment(
            racks(a=(3,), b=(2,)),
            {'g': self.together('rack', w=2), 'h': self.together('rack', w=3)},
        )
        self.assertEqual(
            {('g', 'rack'): 'b1', ('h', 'rack'): 'a1'}, self.near(allotment)
        )

    def test_no_more_of_what_is_scarce_than_there_is(self):
        hosts = racks(a=(9, 9), b=(9,))
        hosts[0]['free']['GPU'] = hosts[2]['free']['GPU'] = 1
        classes = {'gpu': {'request': {'VCPU': 1, 'GPU': 1}}}
        allotment = self.allotment(
            hosts,
            {
                name: self.together('rack', v=1, w={'class': 'gpu'})
                for name in ('g', 'h')
            },
            classes,
        )
        self.assertEqual({'a1', 'b1'}, set(self.near(allotment).values()))

    def test_bundles_within_bundles_are_within_their_domain(self):
        hosts = [
            builders.host(f'{zone}{rack}', f'{zone}{rack}', zone, cpu)
            for zone, cpus in {'y': (2, 2), 'z': (3, 9)}.items()
            for rack, cpu in enumerate(cpus)
        ]
        inner = {
            'p': self.together('rack', w=3),
            'q': self.together('rack', w=2),
        }
        outer = self.together('zone', groups=inner)
        homes = self.near(self.allotment(hosts, {'g': outer}))
        self.assertEqual({'z'}, {home[0] for home in homes.values()})
        self.assertEqual(3, len(homes))

    def test_who_has_a_home_stays(self):
        allotment = self.allotment(
            racks(a=(4,), b=(4,), c=(4,), d=(4,)),
            {name: self.together('rack', w=3) for name in 'ghij'},
        )
        placement = {
            f'{name}/w-{n}': host
            for name, host in (('g', 'd1'), ('h', 'b1'), ('j', 'a1'))
            for n in range(3)
        }
        homes = self.near(allotment, violations.Plan(placement, {}))
        self.assertEqual(
            {'g': 'd1', 'h': 'b1', 'i': 'c1', 'j': 'a1'},
            {at: home for (at, _), home in homes.items()},
        )

    def test_who_does_not_get_on_is_kept_apart_from_then_on(self):
        # By number and amount both have room in a, host by host they do not.
        classes = {f'c{n}': {'request': {'VCPU': n}} for n in (3, 4)}
        allotment = self.allotment(
            racks(a=(5, 5), b=(4,), c=(3, 3)),
            {
                'g': self.together('rack', w={'class': 'c4'}),
                'h': self.together('rack', w={'class': 'c3', 'count': 2}),
            },
            classes,
        )
        both = dict.fromkeys(allotment.found.domains, 0)
        allotment._solver.budget = time_budget.TimeBudget(60)
        self.assertTrue(allotment._learn(both))
        self.assertEqual(2, len(set(self.near(allotment).values())))

    def test_where_all_have_to_share_they_do(self):
        allotment = self.allotment(
            racks(a=(9,), b=(1,)),
            {name: self.together('rack', w=2) for name in 'ghi'},
        )
        self.assertEqual(['a1'] * 3, list(self.near(allotment).values()))

    def test_what_has_been_tried_is_tried_less(self):
        allotment = self.allotment(
            racks(a=(4,), b=(4,), c=(4,)),
            {name: self.together('rack', w=3) for name in 'gh'},
        )
        homes = [self.near(allotment)['g', 'rack'] for _ in range(6)]
        self.assertEqual({'a1', 'b1', 'c1'}, set(homes))

    def test_without_time_there_is_none(self):
        allotment = self.allotment(
            racks(a=(3,), b=(2,)),
            {name: self.together('rack', w=2) for name in 'gh'},
        )
        self.assertEqual({}, self.near(allotment, seconds=0))

    def test_where_there_is_none_it_says_so(self):
        allotment = self.allotment(
            racks(a=(3,), b=(1,)),
            {name: self.together('rack', w=2) for name in 'gh'},
        )
        self.assertEqual({}, self.near(allotment))
