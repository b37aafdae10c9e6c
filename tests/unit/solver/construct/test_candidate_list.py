# SPDX-License-Identifier: Apache-2.0
"""Candidate lists: a few hosts for each equivalence class."""

import numpy as np
from oslotest import base

from nova_groupext.solver.construct import candidate_list
from nova_groupext.solver.construct import domain_ranking
from nova_groupext.solver.construct import search_state
from nova_groupext.solver.model import violations
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


class SearchStateCase(base.BaseTestCase):
    def make(self, hosts, topology, classes=None, **others):
        problem = builders.problem(hosts, topology, classes, **others)
        return search_state.SearchState(problem)

    def sample(self, state, ratio=2.0, seed=0, plan=None, **width):
        """Return {first member: ids of the hosts sampled for its class}."""
        width = candidate_list.CandidateLimits(
            **{'capacity': ratio, 'tightest': 2, **width}
        )
        sampler = candidate_list.HostSampler(
            state, np.random.default_rng(seed)
        )
        demand = {
            eq_class: len(eq_class.members) for eq_class in state.eq_classes
        }
        return {
            eq_class.members[0]: sorted(hosts)
            for eq_class, hosts in sampler.sample(demand, width, plan).items()
        }


class TestSample(SearchStateCase):
    def test_only_allowed_hosts_are_sampled(self):
        classes = {'one': {'request': {'VCPU': 1}}}
        classes['one']['hosts'] = ['a1', 'a2', 'b1', 'n1']
        hosts = [*racks(a=(8, 0), b=(8,), c=(8,)), builders.host('n1')]
        hosts[2]['foreign'] = True
        state = self.make(
            hosts, group([policy('exclusive', 'rack')], w=9), classes
        )
        self.assertEqual({'w-0': ['a1']}, self.sample(state, ratio=9))

    def test_sampled_hosts_have_spare_capacity(self):
        state = self.make(racks(a=[2] * 20), group(w=4))
        for ratio, min_hosts in ((1, 2), (2, 4), (3, 6)):
            sampled = self.sample(state, ratio)['w-0']
            self.assertGreaterEqual(len(sampled), min_hosts)
            self.assertLess(len(sampled), 20)

    def test_scarce_hosts_are_all_sampled(self):
        state = self.make(racks(a=[1] * 4), group(w=4))
        self.assertEqual(['a1', 'a2', 'a3', 'a4'], self.sample(state)['w-0'])

    def test_class_without_a_host_gets_none(self):
        state = self.make(racks(a=(0,)), group(w=1))
        self.assertEqual({'w-0': []}, self.sample(state))

    def test_policy_over_domains_gets_hosts_of_several_domains(self):
        rows = dict.fromkeys('abcdef', (99, 1, 1, 1))
        for rule, min_hosts in (
            (policy('anti-affinity', 'rack'), 4),
            (policy('spread', 'rack', min_domains=4), 4),
            (policy('survive', 'rack', min_members=3), 4),
        ):
            state = self.make(racks(**rows), group([rule], w=4))
            sampled = self.sample(state, ratio=1)['w-0']
            self.assertGreaterEqual(
                len({name[0] for name in sampled}), min_hosts
            )

    def test_affine_classes_get_hosts_of_the_same_domain(self):
        classes = {'two': {'request': {'VCPU': 2}}}
        state = self.make(
            racks(a=(8, 8), b=(8, 8), c=(8, 8)),
            group(
                [policy('affinity', 'rack')],
                w=2,
                x={'class': 'two', 'count': 2},
            ),
            classes,
        )
        found = self.sample(state)
        racks_of = [{name[0] for name in found[path]} for path in found]
        self.assertEqual(2, len(racks_of))
        self.assertEqual(racks_of[0], racks_of[1])
        self.assertEqual(1, len(racks_of[0]))

    def test_too_small_domain_is_not_sampled(self):
        state = self.make(
            racks(a=(1,), b=(2, 2), c=(1, 1)),
            group([policy('affinity', 'rack')], w=3),
        )
        self.assertEqual(['b1', 'b2'], self.sample(state)['w-0'])

    def test_several_of_many_domains_are_sampled(self):
        rows = {f'r{number:02}': (4,) for number in range(12)}
        state = self.make(
            racks(**rows), group([policy('affinity', 'rack')], w=3)
        )
        sampled = self.sample(state)['w-0']
        self.assertGreater(len(sampled), 1)
        self.assertLess(len(sampled), 12)

    def domains(self, zones, **width):
        """Return racks that are sampled for members that share one.

        :param zones: number of racks by zone
        """
        hosts = [
            builders.host(f'{zone}{n}', f'r{zone}{n}', zone, cpu=4 + n)
            for zone, number in zones.items()
            for n in range(number)
        ]
        state = self.make(hosts, group([policy('affinity', 'rack')], w=3))
        return self.sample(state, **width)['w-0']

    def test_random_domains_join_the_tightest(self):
        found = self.domains({'z': 20}, tightest=3, random=4)
        self.assertEqual(7, len(found))
        self.assertLess(
            4, len({*found, *self.domains({'z': 20}, tightest=3, random=1)})
        )

    def test_large_domains_are_limited(self):
        rows = {'a': (8, 8), 'b': (8, 8), 'c': (8, 8)}
        state = self.make(
            racks(**rows), group([policy('affinity', 'rack')], w=3)
        )
        for large in (1, 2, 3):
            sampled = self.sample(state, large=large)['w-0']
            self.assertEqual(large, len({name[0] for name in sampled}))

    def test_part_has_domains_where_constructions_have_failed(self):
        state = self.make(
            racks(a=(8, 8), b=(8, 8)), group([policy('affinity', 'rack')], w=3)
        )
        state.fitting[state.propagators[0]] = [0]
        limits = candidate_list.of_part(2)._asdict()
        for only_fitting, expected in ((True, {'a'}), (False, {'a', 'b'})):
            limits['only_fitting'] = only_fitting
            sampled = self.sample(state, **limits)['w-0']
            self.assertEqual(expected, {name[0] for name in sampled})
        self.assertFalse(candidate_list.of_part(2).only_fitting)

    def test_members_of_one_large_domain_get_hosts_in_each(self):
        rows = {'a': [8] * 30, 'b': [8] * 30}
        state = self.make(
            racks(**rows), group([policy('affinity', 'rack')], w=8)
        )
        sampled = self.sample(state, large=2)['w-0']
        for rack in 'ab':
            inside = [name for name in sampled if name[0] == rack]
            self.assertTrue(2 <= len(inside) < 30, inside)

    def test_hosts_and_domains_of_a_plan_are_sampled(self):
        small = {f'r{number:02}': [4] * 9 for number in range(40)}
        for rows, host in (({'a': [8] * 200}, 'a77'), (small, 'r337')):
            state = self.make(
                racks(**rows), group([policy('affinity', 'rack')], w=3)
            )
            plan = violations.Plan({'w-1': host}, {})
            for seed in range(5):
                found = self.sample(state, seed=seed, plan=plan)['w-0']
                self.assertIn(host, found)

    def test_large_domain_of_a_plan_comes_first(self):
        rows = {'a': (3,), 'b': (9,)}
        state = self.make(
            racks(**rows), group([policy('affinity', 'rack')], w=3)
        )
        for host in ('a1', 'b1'):
            plan = violations.Plan({'w-1': host}, {})
            self.assertEqual([host], self.sample(state, plan=plan)['w-0'])

    def test_same_seed_samples_the_same_hosts(self):
        state = self.make(racks(a=[3] * 40), group(w=4))
        first = self.sample(state, seed=3)
        self.assertEqual(first, self.sample(state, seed=3))
        others = [self.sample(state, seed=seed) for seed in range(4)]
        self.assertTrue(any(other != first for other in others))


class TestDomainRanking(SearchStateCase):
    def rank_domains(self, state, perturbation=None, only_fitting=True):
        """Return numbers of domains for the first propagator's classes."""
        propagator = state.propagators[0]
        size = len(state.matrices.hosts)
        domains = domain_ranking.rank_domains(
            state,
            propagator,
            {
                eq_class: state.hosts(eq_class)
                for eq_class in propagator.eq_classes
            },
            {
                eq_class: len(eq_class.members)
                for eq_class in propagator.eq_classes
            },
            np.ones(size) if perturbation is None else np.array(perturbation),
            only_fitting=only_fitting,
        )
        return domains.tolist()

    def together(self, **rows):
        return self.make(
            racks(**rows), group([policy('affinity', 'rack')], w=4)
        )

    def test_fullest_domain_that_is_large_enough_comes_first(self):
        state = self.together(a=(9,), b=(2, 2), c=(3, 3), d=(3,))
        self.assertEqual([1, 2, 0], self.rank_domains(state))

    def test_perturbation_may_change_the_order(self):
        state = self.together(a=(9,), b=(2, 2))
        self.assertEqual([1, 0], self.rank_domains(state))
        self.assertEqual([0, 1], self.rank_domains(state, [9, 1, 1]))

    def test_domain_that_fits_each_class_only_alone_is_left_out(self):
        classes = {'x': {'request': {'VCPU': 2, 'DISK': 1}}}
        classes['y'] = {'request': {'VCPU': 1, 'DISK': 2}}
        hosts = racks(a=(3,), b=(6,))
        for host, disk in zip(hosts, (9, 6), strict=True):
            host['free']['DISK'] = disk
        topology = group(
            [policy('affinity', 'rack')],
            x={'class': 'x', 'count': 1},
            y={'class': 'y', 'count': 2},
        )
        self.assertEqual(
            [1], self.rank_domains(self.make(hosts, topology, classes))
        )

    def test_domain_known_not_to_fit_is_left_out(self):
        state = self.together(a=(9,), b=(2, 2), c=(3, 3))
        state.fitting[state.propagators[0]] = [0, 2]
        self.assertEqual([2, 0], self.rank_domains(state))

    def test_domain_not_known_to_fit_comes_last_for_programs(self):
        state = self.together(a=(9,), b=(2, 2), c=(3, 3))
        state.fitting[state.propagators[0]] = [0, 2]
        self.assertEqual(
            [2, 0, 1], self.rank_domains(state, only_fitting=False)
        )

    def test_wider_domain_without_a_fitting_inner_one_is_left_out(self):
        below = {'g': group([policy('affinity', 'rack')], w=2)}
        hosts = [
            builders.host(f'{zone}{rack}', f'{zone}{rack}', zone)
            for zone in 'yz'
            for rack in 'ab'
        ]
        state = self.make(
            hosts, group([policy('affinity', 'zone')], groups=below, v=1)
        )
        inner, outer = sorted(
            state.propagators, key=lambda propagator: propagator.final_count
        )
        state.propagators.sort(key=lambda propagator: -propagator.final_count)
        state.fitting[inner] = [3]
        self.assertEqual('zone', outer.policy.scope)
        self.assertEqual([1], self.rank_domains(state))


class TestDomainCapacity(SearchStateCase):
    def estimate_capacity(self, state):
        propagator = state.propagators[0]
        demand = {
            eq_class: len(eq_class.members)
            for eq_class in propagator.eq_classes
        }
        return domain_ranking.estimate_capacity(
            state, propagator, demand
        ).tolist()

    def test_capacity_is_the_number_of_members_that_fit(self):
        state = self.make(
            racks(a=(3, 2), b=(1,), c=(0,)),
            group([policy('spread', 'rack')], w=6),
        )
        self.assertEqual([5, 1, 0], self.estimate_capacity(state))

    def test_classes_share_the_capacity_of_a_domain(self):
        classes = {'two': {'request': {'VCPU': 2}}}
        state = self.make(
            racks(a=(6,), b=(0,)),
            group(
                [policy('spread', 'rack')],
                w=4,
                x={'class': 'two', 'count': 4},
            ),
            classes,
        )
        capacity = self.estimate_capacity(state)
        self.assertIn(capacity[0], (3, 4))
        self.assertEqual(0, capacity[1])
