# SPDX-License-Identifier: Apache-2.0
"""Are a few hosts for each unit enough, and ones it may use?"""

import numpy as np
from oslotest import base

from nova_groupext.solver.construct import candidate_list
from nova_groupext.solver.construct import domain_ranking
from nova_groupext.solver.construct import search_state
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


class ScoutCase(base.BaseTestCase):
    def make(self, hosts, topology, classes=None, **others):
        problem = builders.problem(hosts, topology, classes, **others)
        return search_state.SearchState(problem)

    def pick(self, state, width=2.0, seed=0):
        """First member -> ids of the hosts that are picked for its unit."""
        picks = candidate_list.HostSampler(state, np.random.default_rng(seed))
        wanted = {unit: len(unit.members) for unit in state.units}
        return {
            unit.members[0]: sorted(hosts)
            for unit, hosts in picks.pick(wanted, width).items()
        }


class TestPick(ScoutCase):
    def test_only_hosts_that_may_be_used(self):
        classes = {'one': {'request': {'VCPU': 1}}}
        classes['one']['hosts'] = ['a1', 'a2', 'b1', 'n1']
        hosts = [*racks(a=(8, 0), b=(8,), c=(8,)), builders.host('n1')]
        hosts[2]['foreign'] = True
        state = self.make(
            hosts, group([policy('exclusive', 'rack')], w=9), classes
        )
        self.assertEqual({'w-0': ['a1']}, self.pick(state, width=9))

    def test_room_for_more_than_need_it(self):
        state = self.make(racks(a=[2] * 20), group(w=4))
        for width, least in ((1, 2), (2, 4), (3, 6)):
            picked = self.pick(state, width)['w-0']
            self.assertGreaterEqual(len(picked), least)
            self.assertLess(len(picked), 20)

    def test_all_hosts_where_they_hardly_do(self):
        state = self.make(racks(a=[1] * 4), group(w=4))
        self.assertEqual(['a1', 'a2', 'a3', 'a4'], self.pick(state)['w-0'])

    def test_a_unit_without_a_host_gets_none(self):
        state = self.make(racks(a=(0,)), group(w=1))
        self.assertEqual({'w-0': []}, self.pick(state))

    def test_hosts_of_several_domains_if_a_policy_asks_for_them(self):
        rows = dict.fromkeys('abcdef', (99, 1, 1, 1))
        for rule, least in (
            (policy('anti-affinity', 'rack'), 4),
            (policy('spread', 'rack', min_domains=4), 4),
            (policy('survive', 'rack', min_members=3), 4),
        ):
            state = self.make(racks(**rows), group([rule], w=4))
            picked = self.pick(state, width=1)['w-0']
            self.assertGreaterEqual(len({name[0] for name in picked}), least)

    def test_those_who_go_together_get_the_same_domain(self):
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
        found = self.pick(state)
        racks_of = [{name[0] for name in found[path]} for path in found]
        self.assertEqual(2, len(racks_of))
        self.assertEqual(racks_of[0], racks_of[1])
        self.assertEqual(1, len(racks_of[0]))

    def test_a_domain_that_is_too_small_is_none(self):
        state = self.make(
            racks(a=(1,), b=(2, 2), c=(1, 1)),
            group([policy('affinity', 'rack')], w=3),
        )
        self.assertEqual(['b1', 'b2'], self.pick(state)['w-0'])

    def test_more_than_one_of_many_domains(self):
        rows = {f'r{number:02}': (4,) for number in range(12)}
        state = self.make(
            racks(**rows), group([policy('affinity', 'rack')], w=3)
        )
        picked = self.pick(state)['w-0']
        self.assertGreater(len(picked), 1)
        self.assertLess(len(picked), 12)

    def test_the_same_seed_the_same_hosts(self):
        state = self.make(racks(a=[3] * 40), group(w=4))
        first = self.pick(state, seed=3)
        self.assertEqual(first, self.pick(state, seed=3))
        others = [self.pick(state, seed=seed) for seed in range(4)]
        self.assertTrue(any(other != first for other in others))


class TestRank(ScoutCase):
    def rank(self, state, noise=None):
        """Numbers of the domains, for all units of the first propagator."""
        propagator = state.propagators[0]
        size = len(state.matrices.hosts)
        found = domain_ranking.rank(
            state,
            propagator,
            {unit: state.hosts(unit) for unit in propagator.units},
            {unit: len(unit.members) for unit in propagator.units},
            np.ones(size) if noise is None else np.array(noise),
        )
        return found.tolist()

    def together(self, **rows):
        return self.make(
            racks(**rows), group([policy('affinity', 'rack')], w=4)
        )

    def test_the_fullest_that_is_large_enough_comes_first(self):
        state = self.together(a=(9,), b=(2, 2), c=(3, 3), d=(3,))
        self.assertEqual([1, 2, 0], self.rank(state))

    def test_chance_may_change_the_order(self):
        state = self.together(a=(9,), b=(2, 2))
        self.assertEqual([1, 0], self.rank(state))
        self.assertEqual([0, 1], self.rank(state, [9, 1, 1]))

    def test_what_fits_alone_may_not_fit_together(self):
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
        self.assertEqual([1], self.rank(self.make(hosts, topology, classes)))

    def test_what_is_known_not_to_fit_is_left_out(self):
        state = self.together(a=(9,), b=(2, 2), c=(3, 3))
        state.fitting[state.propagators[0]] = [0, 2]
        self.assertEqual([2, 0], self.rank(state))

    def test_a_wider_domain_holds_one_that_fits(self):
        below = {'g': group([policy('affinity', 'rack')], w=2)}
        hosts = [
            builders.host(f'{zone}{rack}', f'{zone}{rack}', zone)
            for zone in 'yz'
            for rack in 'ab'
        ]
        state = self.make(
            hosts, group([policy('affinity', 'zone')], groups=below, v=1)
        )
        narrow, wide = sorted(state.propagators, key=lambda g: g.size)
        state.propagators.sort(key=lambda g: -g.size)
        state.fitting[narrow] = [3]
        self.assertEqual('zone', wide.policy.scope)
        self.assertEqual([1], self.rank(state))


class TestRoom(ScoutCase):
    def room(self, state):
        propagator = state.propagators[0]
        wanted = {unit: len(unit.members) for unit in propagator.units}
        return domain_ranking.room(state, propagator, wanted).tolist()

    def test_is_how_many_a_domain_takes(self):
        state = self.make(
            racks(a=(3, 2), b=(1,), c=(0,)),
            group([policy('spread', 'rack')], w=6),
        )
        self.assertEqual([5, 1, 0], self.room(state))

    def test_members_of_several_classes_share_it(self):
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
        found = self.room(state)
        self.assertIn(found[0], (3, 4))
        self.assertEqual(0, found[1])
