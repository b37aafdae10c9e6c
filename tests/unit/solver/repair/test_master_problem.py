# SPDX-License-Identifier: Apache-2.0
"""Master problem: a domain for every colocation group."""

import fixtures
from oslotest import base

from nova_groupext.solver.construct import squeaky_wheel
from nova_groupext.solver.model import time_budget
from nova_groupext.solver.model import violations
from nova_groupext.solver.repair import colocation_groups
from nova_groupext.solver.repair import master_problem
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

EMPTY_PLAN = violations.Plan({}, {})


class TestDomainAssignment(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MockPatchObject(
                colocation_groups, '_MAX_LARGE_DOMAINS', 1
            )
        )

    def make(self, hosts, groups, classes=None, **others):
        problem = builders.problem(
            hosts, group(groups=groups), classes, **others
        )
        self.greedy = squeaky_wheel.SqueakyWheel(problem)
        return master_problem.DomainAssignment(
            self.greedy, time_budget.TimeBudget(60)
        )

    def find_domains(self, master, plan=EMPTY_PLAN, seconds=60):
        """Return {(path of the group, scope): a host of its domain}."""
        free_domains = {
            propagator: set(range(99)) for propagator in master.groups.domains
        }
        prescribed = master.find_domains(
            plan, free_domains, time_budget.TimeBudget(seconds)
        )
        hosts = self.greedy.state.matrices.hosts
        return {
            (propagator.policy.at, propagator.policy.scope): hosts[
                propagator.domains[domain][0]
            ]
            for propagator, domain in prescribed.items()
        }

    def colocated(self, *scopes, groups=None, **members):
        policies = [policy('affinity', scope) for scope in scopes]
        return group(policies, groups=groups, **members)

    def test_groups_get_domains_of_their_size(self):
        # Assigned one by one, the first group would take the larger domain.
        master = self.make(
            racks(a=(3,), b=(2,)),
            {
                'g': self.colocated('rack', w=2),
                'h': self.colocated('rack', w=3),
            },
        )
        self.assertEqual(
            {('g', 'rack'): 'b1', ('h', 'rack'): 'a1'},
            self.find_domains(master),
        )

    def test_scarce_resource_is_not_overcommitted(self):
        hosts = racks(a=(9, 9), b=(9,))
        hosts[0]['free']['GPU'] = hosts[2]['free']['GPU'] = 1
        classes = {'gpu': {'request': {'VCPU': 1, 'GPU': 1}}}
        master = self.make(
            hosts,
            {
                name: self.colocated('rack', v=1, w={'class': 'gpu'})
                for name in ('g', 'h')
            },
            classes,
        )
        self.assertEqual({'a1', 'b1'}, set(self.find_domains(master).values()))

    def test_inner_group_is_within_the_domain_of_the_outer(self):
        hosts = [
            builders.host(f'{zone}{rack}', f'{zone}{rack}', zone, cpu)
            for zone, cpus in {'y': (2, 2), 'z': (3, 9)}.items()
            for rack, cpu in enumerate(cpus)
        ]
        inner = {
            'p': self.colocated('rack', w=3),
            'q': self.colocated('rack', w=2),
        }
        outer = self.colocated('zone', groups=inner)
        prescribed = self.find_domains(self.make(hosts, {'g': outer}))
        self.assertEqual({'z'}, {domain[0] for domain in prescribed.values()})
        self.assertEqual(3, len(prescribed))

    def test_group_with_a_domain_keeps_it(self):
        master = self.make(
            racks(a=(4,), b=(4,), c=(4,), d=(4,)),
            {name: self.colocated('rack', w=3) for name in 'ghij'},
        )
        placement = {
            f'{name}/w-{n}': host
            for name, host in (('g', 'd1'), ('h', 'b1'), ('j', 'a1'))
            for n in range(3)
        }
        prescribed = self.find_domains(master, violations.Plan(placement, {}))
        self.assertEqual(
            {'g': 'd1', 'h': 'b1', 'i': 'c1', 'j': 'a1'},
            {at: domain for (at, _), domain in prescribed.items()},
        )

    def test_conflicting_groups_are_separated_by_a_cut(self):
        # By number and amount both fit into a, but not host by host.
        classes = {f'c{n}': {'request': {'VCPU': n}} for n in (3, 4)}
        master = self.make(
            racks(a=(5, 5), b=(4,), c=(3, 3)),
            {
                'g': self.colocated('rack', w={'class': 'c4'}),
                'h': self.colocated('rack', w={'class': 'c3', 'count': 2}),
            },
            classes,
        )
        both = dict.fromkeys(master.groups.domains, 0)
        master._solver.budget = time_budget.TimeBudget(60)
        self.assertTrue(master._add_cuts(both))
        self.assertEqual(2, len(set(self.find_domains(master).values())))

    def test_groups_share_a_domain_if_necessary(self):
        master = self.make(
            racks(a=(9,), b=(1,)),
            {name: self.colocated('rack', w=2) for name in 'ghi'},
        )
        self.assertEqual(['a1'] * 3, list(self.find_domains(master).values()))

    def test_domains_tried_before_cost_more(self):
        master = self.make(
            racks(a=(4,), b=(4,), c=(4,)),
            {name: self.colocated('rack', w=3) for name in 'gh'},
        )
        prescribed = [self.find_domains(master)['g', 'rack'] for _ in range(6)]
        self.assertEqual({'a1', 'b1', 'c1'}, set(prescribed))

    def test_without_time_no_domains_are_found(self):
        master = self.make(
            racks(a=(3,), b=(2,)),
            {name: self.colocated('rack', w=2) for name in 'gh'},
        )
        self.assertEqual({}, self.find_domains(master, seconds=0))

    def test_infeasible_program_gives_no_domains(self):
        master = self.make(
            racks(a=(3,), b=(1,)),
            {name: self.colocated('rack', w=2) for name in 'gh'},
        )
        self.assertEqual({}, self.find_domains(master))
