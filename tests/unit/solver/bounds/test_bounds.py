# SPDX-License-Identifier: Apache-2.0
"""What is proved to be impossible without a solver."""

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
    """Names of the tags of a proof, None if there is none."""
    found = bounds.impossible(builders.problem(*args, **kwargs))
    if found is None:
        return None
    return {
        each.path
        if isinstance(each, assumptions.MemberAssumption)
        else each.type
        for each in found
    }


class TestRoom(base.BaseTestCase):
    def test_a_class_that_fits_on_too_few_hosts(self):
        two = {'two': {'request': {'VCPU': 2}}}
        big = {'class': 'two', 'count': 3}
        self.assertEqual({'w'}, prove(racks(a=(3, 3)), group(w=big), two))
        self.assertIsNone(prove(racks(a=(3, 4)), group(w=big), two))

    def test_stems_of_one_class_together(self):
        self.assertEqual({'v', 'w'}, prove(racks(a=(3,)), group(v=2, w=2)))
        self.assertIsNone(prove(racks(a=(4,)), group(v=2, w=2)))

    def test_single_members_of_one_class_share_a_host(self):
        one = {'class': 'one'}
        self.assertIsNone(prove(racks(a=(2,)), group(v=one, w=one)))

    def test_a_resource_that_is_short_in_all(self):
        classes = {
            'two': {'request': {'VCPU': 2}},
            'three': {'request': {'VCPU': 3}},
        }
        members = group(
            v={'class': 'two', 'count': 2}, w={'class': 'three', 'count': 2}
        )
        self.assertEqual({'v', 'w'}, prove(racks(a=(6, 3)), members, classes))
        self.assertIsNone(prove(racks(a=(6, 4)), members, classes))

    def test_what_no_sum_of_requests_uses_is_no_room(self):
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

    def test_those_that_share_few_hosts(self):
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

    def test_members_that_take_different_ways_share_a_host(self):
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

    def test_amounts_near_the_largest(self):
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

    def test_pinned_members_need_no_room(self):
        self.assertIsNone(
            prove(racks(a=(1,)), group(w=2), pinned={'w-1': 'a1'})
        )

    def test_no_hosts(self):
        self.assertEqual({'w'}, prove([], group(w=1)))
        may = {'class': 'one', 'min_count': 0}
        self.assertIsNone(prove([], group(w=may)))
        affine = group([policy('affinity', 'rack')], w=may)
        self.assertIsNone(prove([], affine))


class TestPolicies(base.BaseTestCase):
    def test_no_domain_is_large_enough(self):
        together = group([policy('affinity', 'rack')], w=4)
        self.assertEqual(
            {'affinity', 'w'}, prove(racks(a=(2, 1), b=(3,)), together)
        )
        self.assertIsNone(prove(racks(a=(2, 2), b=(3,)), together))

    def test_no_domain_has_room_for_parts_that_are_apart(self):
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

    def test_a_domain_within_a_domain(self):
        hosts = [
            builders.host('a1', 'a', 'x', 4),
            *(builders.host(f'y{n}', f'y{n}', 'y', 3) for n in range(3)),
        ]
        inner = group([policy('affinity', 'rack')], w=4)
        topology = group(
            [policy('affinity', 'zone')], groups={'g': inner}, v=6
        )
        self.assertEqual({'affinity', 'g/w', 'v'}, prove(hosts, topology))

    def test_both_ends_of_a_relationship(self):
        near = tie('v', 'w', policy('network-proximity', 'rack'))
        topology = group((), [near], v=2, w=2)
        self.assertEqual(
            {'network-proximity', 'v', 'w'},
            prove(racks(a=(3,), b=(3,)), topology),
        )
        topology['members']['v']['min_count'] = 0
        self.assertIsNone(prove(racks(a=(3,), b=(3,)), topology))

    def test_the_domain_of_a_pinned_member(self):
        together = group([policy('affinity', 'rack')], w=3)
        self.assertEqual(
            {'affinity', 'w'},
            prove(racks(a=(1,), b=(8,)), together, pinned={'w-0': 'a1'}),
        )

    def test_too_few_domains_to_be_apart(self):
        apart = group([policy('anti-affinity', 'rack', max_per_domain=2)], w=4)
        self.assertEqual(
            {'anti-affinity', 'w'}, prove(racks(a=(8, 8), b=(1,)), apart)
        )
        self.assertIsNone(prove(racks(a=(8, 8), b=(2,)), apart))

    def test_parts_that_are_apart_and_need_the_same_hosts(self):
        apart = group([policy('anti-affinity', 'host')], w=2)
        topology = group(groups={'g': apart, 'h': apart})
        self.assertEqual(
            {'anti-affinity', 'g/w', 'h/w'},
            prove(racks(a=(8, 1)), topology),
        )
        self.assertIsNone(prove(racks(a=(2, 2)), topology))

    def test_too_few_domains_to_be_spread(self):
        wide = group([policy('spread', 'rack', min_domains=3)], w=4)
        self.assertEqual({'spread', 'w'}, prove(racks(a=(8,), b=(8,)), wide))
        self.assertIsNone(prove(racks(a=(8,), b=(8,), c=(1,)), wide))

    def test_domains_too_uneven_to_be_spread(self):
        even = group([policy('spread', 'rack')], w=4)
        self.assertEqual({'spread', 'w'}, prove(racks(a=(8,), b=(1,)), even))
        self.assertIsNone(prove(racks(a=(3,), b=(2,)), even))

    def test_a_number_that_cannot_be_divided_evenly(self):
        even = policy('spread', 'rack', max_skew=0)
        hosts = racks(a=(8,), b=(8,), c=(8,))
        self.assertEqual({'spread', 'w'}, prove(hosts, group([even], w=7)))
        self.assertIsNone(prove(hosts, group([even], w=8)))
        some = {'class': 'one', 'count': 8, 'min_count': 7}
        self.assertIsNone(prove(hosts, group([even], w=some)))

    def test_members_that_have_to_be_together_and_apart(self):
        near = tie('w-1', 'w-3', policy('affinity', 'rack'))
        for scope, expected in (
            ('rack', {'affinity', 'anti-affinity', 'w'}),
            ('host', None),
        ):
            topology = group([policy('anti-affinity', scope)], [near], w=4)
            hosts = racks(a=(8, 8), b=(8,), c=(8,), d=(8,))
            self.assertEqual(expected, prove(hosts, topology), scope)

    def test_pinned_members_count_in_a_domain_within_a_domain(self):
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

    def test_too_few_would_survive(self):
        safe = group([policy('survive', 'rack', min_members=3)], w=4)
        self.assertEqual({'survive'}, prove(racks(a=(8,), b=(2,)), safe))
        self.assertEqual(
            {'survive'},
            prove(racks(a=(8,), b=(8,), c=(8,)), safe),
        )
        self.assertIsNone(prove(racks(a=(1,), b=(1,), c=(1,), d=(1,)), safe))

    def test_others_are_where_members_have_to_be_alone(self):
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

    def test_hosts_without_a_domain(self):
        lone = [builders.host('n', None, 'z'), *racks(a=(1,))]
        topology = group([policy('spread', 'rack', min_domains=1)], w=2)
        self.assertEqual({'spread', 'w'}, prove(lone, topology))

    def test_what_pins_break(self):
        topology = group([policy('affinity', 'rack')], w=2)
        pins = {'w-0': 'a1', 'w-1': 'b1'}
        self.assertEqual(
            {'affinity'}, prove(racks(a=(8,), b=(8,)), topology, pinned=pins)
        )


class TestLook(base.BaseTestCase):
    def test_hosts_where_members_cannot_be_are_left_out(self):
        together = group([policy('affinity', 'rack')], w=3)
        problem = builders.problem(
            racks(a=(2,), b=(2, 2), c=(8,)), group(groups={'g': together}, x=4)
        )
        proof, shares, narrowed = bounds.look(problem)
        self.assertIsNone(proof)
        self.assertEqual({'g/w': 3 / 12, 'x': 4 / 14}, shares)
        hosts = {p: c.hosts for p, c in narrowed.class_of.items()}
        self.assertEqual({'b1', 'b2', 'c1'}, hosts['g/w-0'])
        self.assertEqual({'a1', 'b1', 'b2', 'c1'}, hosts['x-0'])

    def test_pinned_members_keep_their_class(self):
        together = group([policy('affinity', 'rack')], w=2)
        problem = builders.problem(
            racks(a=(2,), b=(2,)), together, pinned={'w-0': 'b1'}
        )
        narrowed = bounds.look(problem)[2]
        self.assertIs(problem.classes['one'], narrowed.class_of['w-0'])
        self.assertEqual({'b1'}, narrowed.class_of['w-1'].hosts)


class TestCloud(base.BaseTestCase):
    def test_it_serves_other_problems_with_the_same_hosts_only(self):
        problem = builders.problem(racks(a=(1,)), group(w=2))
        other = builders.problem(racks(a=(2,)), group(w=2))
        cloud = bounds.HostArrays(problem)
        self.assertIsNotNone(bounds.impossible(problem, cloud))
        self.assertIsNone(bounds.impossible(other, cloud))


class TestImports(base.BaseTestCase):
    def test_no_solver_is_loaded(self):
        code = (
            'import sys; from nova_groupext.solver import bounds; '
            'assert "highspy" not in sys.modules'
        )
        subprocess.run([sys.executable, '-c', code], check=True)
