# SPDX-License-Identifier: Apache-2.0
"""Items of conflicts, of small and of large ones."""

from oslotest import base

from nova_groupext.solver.explain import conflict_summary
from nova_groupext.solver.model import assumptions
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks


class TestConflictSummary(base.BaseTestCase):
    def items(self, topology):
        """Return items of the conflict of all assumptions of a topology."""
        problem = builders.problem(racks(a=(1,)), topology)
        assumed = assumptions.of_problem(problem)
        return conflict_summary.of(problem, assumed)

    def texts(self, topology):
        items, _ = self.items(topology)
        return [item['text'] for item in items]

    def sets(self, number, policies=()):
        return group(policies, **{f'm{n:02}': 2 for n in range(number)})

    def test_ten_items_are_one_assumption_each(self):
        items, are_single = self.items(self.sets(10))

        self.assertEqual(10, len(items))
        self.assertTrue(are_single)
        self.assertEqual(
            {
                'kind': 'members',
                'at': '',
                'members': 'm00',
                'code': 'vrt.members',
                'text': '2 m00',
            },
            items[0],
        )

    def test_eleven_member_sets_are_one_item(self):
        items, are_single = self.items(self.sets(11))

        self.assertFalse(are_single)
        self.assertEqual(
            [
                {
                    'kind': 'members',
                    'at': '',
                    'subtree': True,
                    'code': 'vrt.members',
                    'text': '22 members of the group',
                }
            ],
            items,
        )

    def test_items_name_the_smallest_subtrees_that_are_few(self):
        inner = {f'i{n}': self.sets(2) for n in range(9)}
        below = {'a': group(groups=inner), 'b': self.sets(3), 'c': group(w=1)}

        self.assertEqual(
            ['36 members of a', '6 members of b', '1 w in c'],
            self.texts(group(groups=below)),
        )
        below['a']['groups'] = {'i0': inner['i0'], 'i1': inner['i1']}
        below['b'] = self.sets(7)
        self.assertEqual(
            [
                *('4 members of a/i0', '4 members of a/i1'),
                *('14 members of b', '1 w in c'),
            ],
            self.texts(group(groups=below)),
        )

    def test_optional_members_are_told(self):
        topology = self.sets(11)
        topology['members']['m00'] = {
            **{'class': 'one', 'count': 9},
            'min_count': 3,
        }

        self.assertEqual(
            ['at least 23 of 29 members of the group'], self.texts(topology)
        )

    def test_policies_of_one_type_and_scope_are_one_item(self):
        affine = [policy('affinity', 'rack')]
        below = {f'g{n:02}': group(affine, w=2) for n in range(11)}
        items, are_single = self.items(
            group([policy('anti-affinity', 'host')], groups=below)
        )

        self.assertFalse(are_single)
        self.assertEqual(
            [
                (None, '22 members of the group'),
                (None, 'host anti-affinity of the group'),
                (True, 'rack affinity of all parts in the group'),
            ],
            [
                (
                    item.get('subtree') if item['kind'] == 'policy' else None,
                    item['text'],
                )
                for item in items
            ],
        )

    def test_reason_names_the_items(self):
        answer = builders.solve(racks(a=(11,), b=(10,)), self.sets(11))

        self.assertEqual(
            'There is not enough free capacity for 22 members of the group.',
            answer.reason['text'],
        )
        self.assertFalse(answer.minimal)
