# SPDX-License-Identifier: Apache-2.0
"""Proofs of infeasibility without a solver."""

import subprocess
import sys

from oslotest import base

from nova_groupext.solver import bounds
from nova_groupext.solver.model import assumptions
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks
from tests.unit.solver.builders import tie


def prove(*args, **kwargs):
    """Return the names of a proof's assumptions, None without a proof."""
    found = bounds.prove_infeasible(builders.problem(*args, **kwargs))
    if found is None:
        return None
    return {
        each.path
        if isinstance(each, assumptions.MemberAssumption)
        else each.type
        for each in found
    }


class TestCapacity(base.BaseTestCase):
    def test_class_that_fits_on_too_few_hosts_is_impossible(self):
        two = {'two': {'request': {'VCPU': 2}}}
        big = {'class': 'two', 'count': 3}
        self.assertEqual({'w'}, prove(racks(a=(3, 3)), group(w=big), two))
        self.assertIsNone(prove(racks(a=(3, 4)), group(w=big), two))

    def test_member_sets_of_one_class_count_together(self):
        self.assertEqual({'v', 'w'}, prove(racks(a=(3,)), group(v=2, w=2)))
        self.assertIsNone(prove(racks(a=(4,)), group(v=2, w=2)))

    def test_single_members_of_one_class_may_share_a_host(self):
        one = {'class': 'one'}
        self.assertIsNone(prove(racks(a=(2,)), group(v=one, w=one)))

    def test_total_shortage_of_a_resource_is_impossible(self):
        classes = {
            'two': {'request': {'VCPU': 2}},
            'three': {'request': {'VCPU': 3}},
        }
        members = group(
            v={'class': 'two', 'count': 2}, w={'class': 'three', 'count': 2}
        )
        self.assertEqual({'v', 'w'}, prove(racks(a=(6, 3)), members, classes))
        self.assertIsNone(prove(racks(a=(6, 4)), members, classes))

    def test_capacity_that_no_sum_of_requests_uses_is_ignored(self):
        classes = {
            'four': {'request': {'VCPU': 4}},
            'six': {'request': {'VCPU': 6}},
        }
        members = group(
            v={'class': 'four', 'count': 2}, w={'class': 'six', 'count': 1}
        )
        self.assertEqual(
            {'v', 'w'}, prove(racks(a=(7, 5, 3)), members, classes)
        )

    def test_classes_that_share_too_few_hosts_are_impossible(self):
        classes = {
            name: {'request': {'VCPU': 1, name: 1}, 'hosts': ['a1']}
            for name in ('x', 'y')
        }
        hosts = racks(a=(1, 8))
        hosts[0]['free'].update(x=1, y=1)
        self.assertEqual(
            {'v', 'w'},
            prove(
                hosts,
                group(v={'class': 'x'}, w={'class': 'y'}, u=4),
                classes,
            ),
        )

    def test_members_with_different_alternatives_share_a_host(self):
        classes = {
            'gpu': {
                'request': {'VCPU': 1},
                'alternatives': {'a1': [{'GPU0': 1}, {'GPU1': 1}]},
            }
        }
        hosts = racks(a=(0,))
        hosts[0]['free'] = {'GPU0': 1, 'GPU1': 1}
        gpus = {'class': 'gpu', 'count': 2}
        self.assertIsNone(prove(hosts, group(w=gpus), classes))
        gpus = {'class': 'gpu', 'count': 3}
        self.assertEqual({'w'}, prove(hosts, group(w=gpus), classes))

    def test_largest_amounts_do_not_overflow(self):
        most = 2**63 - 1
        classes = {
            'all': {'request': {'B': most}},
            'bit': {'request': {'B': 1}},
        }
        hosts = [{'id': 'a', 'free': {'B': most}}]
        self.assertIsNone(prove(hosts, group(w={'class': 'all'}), classes))
        self.assertEqual(
            {'w'},
            prove(hosts, group(w={'class': 'all', 'count': 2}), classes),
        )

    def test_pinned_members_need_no_capacity(self):
        self.assertIsNone(
            prove(racks(a=(1,)), group(w=2), pinned={'w-1': 'a1'})
        )

    def test_cloud_without_hosts_takes_only_optional_members(self):
        self.assertEqual({'w'}, prove([], group(w=1)))
        optional = {'class': 'one', 'min_count': 0}
        self.assertIsNone(prove([], group(w=optional)))
        affine = group([policy('affinity', 'rack')], w=optional)
        self.assertIsNone(prove([], affine))


class TestPolicies(base.BaseTestCase):
    def test_affinity_without_a_large_domain_is_impossible(self):
        together = group([policy('affinity', 'rack')], w=4)
        self.assertEqual(
            {'affinity', 'w'}, prove(racks(a=(2, 1), b=(3,)), together)
        )
        self.assertIsNone(prove(racks(a=(2, 2), b=(3,)), together))

    def test_affinity_without_a_domain_of_enough_hosts_is_impossible(self):
        classes = {'two': {'request': {'VCPU': 2}}}
        apart = policy('anti-affinity', 'host')
        topology = group(
            [policy('affinity', 'rack')],
            groups={'g': group([apart], w={'class': 'two', 'count': 3})},
        )
        self.assertEqual(
            {'affinity', 'anti-affinity', 'g/w'},
            prove(racks(a=(8, 8, 1), b=(8, 8)), topology, classes),
        )
        self.assertIsNone(prove(racks(a=(2, 2, 2)), topology, classes))

    def test_parts_of_a_member_set_may_be_in_different_domains(self):
        relationships = [
            {
                'name': 'r',
                'between': ['w-0', 'w-1'],
                'policies': [policy('affinity', 'host')],
            },
            {
                'name': 's',
                'between': ['w-1', 'w-2'],
                'policies': [policy('spread', 'host')],
            },
        ]
        self.assertIsNone(
            prove(racks(a=(8, 8)), group((), relationships, w=3))
        )

    def test_nested_affinity_without_a_domain_is_impossible(self):
        hosts = [
            builders.host('a1', 'a', 'x', 4),
            *(builders.host(f'y{n}', f'y{n}', 'y', 3) for n in range(3)),
        ]
        inner = group([policy('affinity', 'rack')], w=4)
        topology = group(
            [policy('affinity', 'zone')], groups={'g': inner}, v=6
        )
        self.assertEqual({'affinity', 'g/w', 'v'}, prove(hosts, topology))

    def test_proximity_needs_one_domain_for_both_ends(self):
        near = tie('v', 'w', policy('network-proximity', 'rack'))
        topology = group((), [near], v=2, w=2)
        self.assertEqual(
            {'network-proximity', 'v', 'w'},
            prove(racks(a=(3,), b=(3,)), topology),
        )
        topology['members']['v']['min_count'] = 0
        self.assertIsNone(prove(racks(a=(3,), b=(3,)), topology))

    def test_affinity_needs_the_domain_of_a_pinned_member(self):
        together = group([policy('affinity', 'rack')], w=3)
        self.assertEqual(
            {'affinity', 'w'},
            prove(racks(a=(1,), b=(8,)), together, pinned={'w-0': 'a1'}),
        )

    def test_anti_affinity_over_too_few_domains_is_impossible(self):
        apart = group([policy('anti-affinity', 'rack', max_per_domain=2)], w=4)
        self.assertEqual(
            {'anti-affinity', 'w'}, prove(racks(a=(8, 8), b=(1,)), apart)
        )
        self.assertIsNone(prove(racks(a=(8, 8), b=(2,)), apart))

    def test_anti_affinity_of_groups_on_few_hosts_is_impossible(self):
        apart = group([policy('anti-affinity', 'host')], w=2)
        topology = group(groups={'g': apart, 'h': apart})
        self.assertEqual(
            {'anti-affinity', 'g/w', 'h/w'},
            prove(racks(a=(8, 1)), topology),
        )
        self.assertIsNone(prove(racks(a=(2, 2)), topology))

    def test_spread_over_too_few_domains_is_impossible(self):
        wide = group([policy('spread', 'rack', min_domains=3)], w=4)
        self.assertEqual({'spread', 'w'}, prove(racks(a=(8,), b=(8,)), wide))
        self.assertIsNone(prove(racks(a=(8,), b=(8,), c=(1,)), wide))

    def test_spread_over_uneven_domains_is_impossible(self):
        even = group([policy('spread', 'rack')], w=4)
        self.assertEqual({'spread', 'w'}, prove(racks(a=(8,), b=(1,)), even))
        self.assertIsNone(prove(racks(a=(3,), b=(2,)), even))

    def test_spread_of_an_indivisible_number_is_impossible(self):
        even = policy('spread', 'rack', max_skew=0)
        hosts = racks(a=(8,), b=(8,), c=(8,))
        self.assertEqual({'spread', 'w'}, prove(hosts, group([even], w=7)))
        self.assertIsNone(prove(hosts, group([even], w=8)))
        partly_optional = {'class': 'one', 'count': 8, 'min_count': 7}
        self.assertIsNone(prove(hosts, group([even], w=partly_optional)))

    def test_affinity_and_anti_affinity_of_a_pair_are_impossible(self):
        near = tie('w-1', 'w-3', policy('affinity', 'rack'))
        for scope, expected in (
            ('rack', {'affinity', 'anti-affinity', 'w'}),
            ('host', None),
        ):
            topology = group([policy('anti-affinity', scope)], [near], w=4)
            hosts = racks(a=(8, 8), b=(8,), c=(8,), d=(8,))
            self.assertEqual(expected, prove(hosts, topology), scope)

    def test_pinned_members_count_in_nested_domains(self):
        inner = group([policy('spread', 'host')], w=4)
        topology = group([policy('affinity', 'rack')], groups={'g': inner})
        pinned = {'g/w-0': 'a1', 'g/w-1': 'a1'}
        self.assertIsNone(prove(racks(a=(0, 2)), topology, pinned=pinned))
        self.assertEqual(
            {'affinity', 'spread', 'g/w'},
            prove(racks(a=(0, 1), b=(8,)), topology, pinned=pinned),
        )

    def test_optional_members_may_balance_a_spread(self):
        classes = {'left': {'request': {'VCPU': 1}, 'hosts': ['a1']}}
        topology = group(
            [policy('spread', 'rack')],
            v={'class': 'left', 'count': 2},
            w={'class': 'one', 'min_count': 0},
        )
        hosts = racks(a=(8,), b=(8,))
        self.assertIsNone(prove(hosts, topology, classes))

    def test_survive_with_too_few_survivors_is_impossible(self):
        safe = group([policy('survive', 'rack', min_members=3)], w=4)
        self.assertEqual({'survive'}, prove(racks(a=(8,), b=(2,)), safe))
        self.assertEqual(
            {'survive'},
            prove(racks(a=(8,), b=(8,), c=(8,)), safe),
        )
        self.assertIsNone(prove(racks(a=(1,), b=(1,), c=(1,), d=(1,)), safe))

    def test_exclusive_without_an_empty_domain_is_impossible(self):
        hosts = racks(a=(8,), b=(8,))
        hosts[0]['foreign'] = True
        topology = group(
            groups={'g': group([policy('exclusive', 'rack')], w=1)}, p=1
        )
        self.assertIsNone(prove(hosts, topology))
        self.assertEqual(
            {'exclusive', 'g/w'},
            prove(hosts, topology, pinned={'p-0': 'b1'}),
        )
        self.assertEqual(
            {'exclusive', 'p'},
            prove([hosts[1]], topology, pinned={'g/w-0': 'b1'}),
        )

    def test_host_without_a_domain_takes_no_member(self):
        lone = [builders.host('n', None, 'z'), *racks(a=(1,))]
        topology = group([policy('spread', 'rack', min_domains=1)], w=2)
        self.assertEqual({'spread', 'w'}, prove(lone, topology))

    def test_pins_that_break_a_policy_are_impossible(self):
        topology = group([policy('affinity', 'rack')], w=2)
        pins = {'w-0': 'a1', 'w-1': 'b1'}
        self.assertEqual(
            {'affinity'}, prove(racks(a=(8,), b=(8,)), topology, pinned=pins)
        )


class TestNarrowing(base.BaseTestCase):
    def test_hosts_that_cannot_take_a_member_are_excluded(self):
        together = group([policy('affinity', 'rack')], w=3)
        problem = builders.problem(
            racks(a=(2,), b=(2, 2), c=(8,)), group(groups={'g': together}, x=4)
        )
        proof, shares, reduced = bounds.analyse(problem)
        self.assertIsNone(proof)
        self.assertEqual({'g/w': 3 / 12, 'x': 4 / 14}, shares)
        hosts = {p: c.hosts for p, c in reduced.class_of.items()}
        self.assertEqual({'b1', 'b2', 'c1'}, hosts['g/w-0'])
        self.assertEqual({'a1', 'b1', 'b2', 'c1'}, hosts['x-0'])

    def test_pinned_members_keep_their_class(self):
        together = group([policy('affinity', 'rack')], w=2)
        problem = builders.problem(
            racks(a=(2,), b=(2,)), together, pinned={'w-0': 'b1'}
        )
        reduced = bounds.analyse(problem)[2]
        self.assertIs(problem.classes['one'], reduced.class_of['w-0'])
        self.assertEqual({'b1'}, reduced.class_of['w-1'].hosts)


class TestImports(base.BaseTestCase):
    def test_no_solver_is_loaded(self):
        code = (
            'import sys; from nova_groupext.solver import bounds; '
            'assert "highspy" not in sys.modules'
        )
        subprocess.run([sys.executable, '-c', code], check=True)


class TestCountMembers(base.BaseTestCase):
    def count(self, hosts, *, classes, **members):
        problem = builders.problem(hosts, group(**members), classes)
        return bounds.count_members(problem)

    def test_amounts_of_all_hosts_are_for_the_least_demands_first(self):
        classes = {
            'one': {'request': {'VCPU': 1}},
            'four': {'request': {'VCPU': 4}},
        }
        optional = {'count': 3, 'min_count': 0}

        number = self.count(
            racks(a=(4, 4)),
            classes=classes,
            v={'class': 'one', **optional},
            w={'class': 'four', **optional},
        )

        self.assertEqual(3 + 1, number)

    def test_hosts_that_take_no_member_do_not_count(self):
        number = self.count(
            racks(a=(3, 3)),
            classes={'two': {'request': {'VCPU': 2}}},
            w={'class': 'two', 'count': 3, 'min_count': 0},
        )

        self.assertEqual(2, number)
