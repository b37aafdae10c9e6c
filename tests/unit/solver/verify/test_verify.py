# SPDX-License-Identifier: Apache-2.0
"""Verification of right answers and of changed ones."""

import dataclasses

from oslotest import base

from nova_groupext.solver.solve import stages
from nova_groupext.solver.verify import answer_schema
from nova_groupext.solver.verify import verify
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy
from tests.unit.solver.builders import racks

CLASSES = {
    'two': {
        'request': {'VCPU': 3},
        'hosts': ['a1', 'a2'],
        'scores': {'a1': 2, 'a2': 1},
        'alternatives': {'a1': [{'VCPU': 9}, {'VCPU': 2}]},
    }
}

# Two of w are optional; d uses the second of its alternatives on a1.
PLACED = builders.problem(
    racks(a=(3, 1), b=(1,)),
    group(
        [policy('affinity', 'rack', False, weight=0.5)],
        groups={'db': group(d={'class': 'two'})},
        w={'class': 'one', 'count': 4, 'min_count': 2},
        p=1,
    ),
    CLASSES,
    pinned={'p-0': 'b1'},
)

# All of w must share a rack, and none is large enough; q is irrelevant.
REFUSED = builders.problem(
    racks(a=(2, 1), b=(2,)),
    group(
        [policy('spread', 'zone', max_skew=9, min_domains=1)],
        groups={'in': group([policy('affinity', 'rack')], w=4)},
        q=1,
    ),
)


def right(problem):
    return stages.solve(problem).to_dict()


def error_paths(problem, raw):
    """Return the JSON paths of the errors in an answer."""
    return [
        finding.where
        for finding in verify.findings(problem, answer_schema.parse(raw))
        if finding.is_error
    ]


class TestPlaced(base.BaseTestCase):
    def _found(self, path, value):
        return error_paths(
            PLACED, builders.changed(right(PLACED), path, value)
        )

    def test_cost_is_required(self):
        answer = dataclasses.replace(stages.solve(PLACED), cost=None)

        [finding] = verify.findings(PLACED, answer)

        self.assertEqual('$.cost', finding.where)

    def test_number_of_changes_is_verified(self):
        problem = dataclasses.replace(PLACED, current={'w-0': 'a1'})
        answer = right(problem)
        where = ['cost', 'changes']

        self.assertEqual([], error_paths(problem, answer))
        wrong = builders.changed(answer, where, 2)
        self.assertEqual(['$.cost.changes'], error_paths(problem, wrong))
        self.assertEqual(['$.cost.changes'], error_paths(PLACED, answer))
        del answer['cost']['changes']
        self.assertEqual(['$.cost.changes'], error_paths(problem, answer))

    def test_right_plan_passes(self):
        raw = right(PLACED)
        self.assertEqual([], error_paths(PLACED, raw))
        self.assertEqual(1, raw['alternative']['db/d'])
        self.assertTrue(raw['unplaced'] and raw['violations'])

    def test_unknown_name_is_a_fault(self):
        self.assertEqual(
            ['$.placement.w-0'], self._found(['placement', 'w-0'], 'c1')
        )
        self.assertEqual(
            ['$.placement.w-9'], self._found(['placement', 'w-9'], 'a1')
        )
        self.assertEqual(
            ['$.alternative.w-9'], self._found(['alternative', 'w-9'], 0)
        )

    def test_wrong_or_missing_alternative_is_a_fault(self):
        where = '$.alternative["db/d"]'
        for value in (2, 10**400):
            self.assertEqual(
                [where], self._found(['alternative', 'db/d'], value)
            )
        self.assertEqual([where], self._found(['alternative'], {}))
        for path in ('w-0', 'p-0', 'w-3'):
            self.assertEqual(
                [f'$.alternative.{path}'],
                self._found(['alternative', path], 0),
            )

    def test_infeasible_plan_is_a_fault(self):
        full = self._found(['alternative', 'db/d'], 0)
        self.assertIn('$.placement', full)
        moved = self._found(['placement', 'p-0'], 'a1')
        self.assertIn('$.placement', moved)
        raw = right(PLACED)
        few = {p: h for p, h in raw['placement'].items() if p[0] != 'w'}
        self.assertIn('$.placement', self._found(['placement'], few))

    def test_broken_strict_policy_is_a_fault(self):
        far = builders.problem(
            racks(a=(2,), b=(2,)),
            group([policy('anti-affinity', 'rack')], w=2),
        )
        raw = builders.changed(right(far), ['placement', 'w-0'], 'b1')
        raw['placement']['w-1'] = 'b1'
        self.assertEqual(['$.placement'], error_paths(far, raw))

    def test_wrong_list_of_unplaced_members_is_a_fault(self):
        for value in ([], ['w-0'], ['w-2', 'w-3', 'w-3']):
            self.assertIn('$.unplaced', self._found(['unplaced'], value))

    def test_wrong_cost_is_a_fault(self):
        for key, value in (('soft', 2), ('preference', 2.5), ('bound', 1)):
            self.assertEqual(
                [f'$.cost.{key}'], self._found(['cost', key], value)
            )

    def test_rounding_of_a_cost_is_no_fault(self):
        raw = right(PLACED)
        for key in ('soft', 'bound', 'preference'):
            raw['cost'][key] += 1e-12
        self.assertEqual([], error_paths(PLACED, raw))

    def test_wrong_list_of_violations_is_a_fault(self):
        one = right(PLACED)['violations']
        for value in (
            [],
            [*one, *one],
            [{**one[0], 'at': 'db'}],
            [{**one[0], 'cost': 1}],
            [{**one[0], 'policy': {'type': 'spread', 'scope': 'rack'}}],
        ):
            self.assertEqual(
                ['$.violations'], self._found(['violations'], value)
            )

    def test_parts_of_another_status_are_faults(self):
        reason = {'code': 'vrt.capacity', 'text': 'no room'}
        self.assertEqual(['$.reason'], self._found(['reason'], reason))
        self.assertEqual(
            ['$.placement', '$.cost'],
            error_paths(
                PLACED,
                {
                    'status': 'undecided',
                    'placement': {'w-0': 'a1'},
                    'cost': {'soft': 0, 'bound': 0, 'preference': 0},
                },
            ),
        )


class TestRefused(base.BaseTestCase):
    def _found(self, path, value):
        return error_paths(
            REFUSED, builders.changed(right(REFUSED), path, value)
        )

    def test_right_refusal_passes(self):
        raw = right(REFUSED)
        self.assertEqual([], error_paths(REFUSED, raw))
        self.assertEqual(2, len(raw['conflict']))
        self.assertTrue(raw['relaxations'])

    def test_refusal_of_a_feasible_problem_is_a_fault(self):
        item = {'kind': 'members', 'at': '', 'members': 'w'}
        raw = {
            'status': 'refused',
            'conflict': [{**item, 'code': 'vrt.members'}],
        }
        self.assertEqual(['$.conflict'], error_paths(PLACED, raw))

    def test_incomplete_conflict_is_a_fault(self):
        self.assertEqual(['$.conflict'], self._found(['conflict'], []))
        for item in right(REFUSED)['conflict']:
            self.assertIn('$.conflict', self._found(['conflict'], [item]))

    def test_items_of_subtrees_name_all_inside(self):
        policy, members = right(REFUSED)['conflict']
        policy['subtree'] = True
        everything = {'kind': 'members', 'code': 'vrt.members'}
        everything['subtree'] = True
        for at, expected in (('', []), ('in', []), ('i', ['$.conflict'])):
            for items in (
                [{**policy, 'at': at}, members],
                [policy, {**everything, 'at': at}],
            ):
                raw = {**right(REFUSED), 'conflict': items, 'minimal': False}
                self.assertEqual(expected, error_paths(REFUSED, raw))

    def test_false_claim_of_minimality_is_a_fault(self):
        item = {'kind': 'members', 'at': '', 'members': 'q'}
        raw = right(REFUSED)
        raw['conflict'].append({**item, 'code': 'vrt.members'})
        self.assertEqual(['$.conflict[2]'], error_paths(REFUSED, raw))
        self.assertEqual([], error_paths(REFUSED, {**raw, 'minimal': False}))

    def test_unknown_words_in_a_conflict_are_a_fault(self):
        for path, value in (
            (['at'], 'out'),
            (['policy', 'type'], 'exclusive'),
            (['policy', 'scope'], 'zone'),
            (['code'], 'vrt.members'),
        ):
            found = self._found(['conflict', 0, *path], value)
            self.assertTrue(found[0].startswith('$.conflict[0]'), found)
        found = self._found(['conflict', 1, 'members'], 'v')
        self.assertEqual(['$.conflict[1]'], found)

    def test_relaxation_that_does_not_help_is_a_fault(self):
        softer = {'at': 'in', 'policy': 'affinity', 'scope': 'rack'}
        other = {'at': '', 'policy': 'spread', 'scope': 'zone'}
        fewer = {'at': 'in', 'members': 'w'}
        for helps, change in (
            (True, {**softer, 'strict': False}),
            (False, {**other, 'strict': False}),
            (True, {**fewer, 'min_count': 3}),
            (False, {**fewer, 'min_count': 4}),
            (True, {'class': 'one', 'min_counts': {'in/w': 3, 'q': 1}}),
            (True, {'min_counts': {'in/w': 3, 'q': 1}}),
            (False, {'class': 'one', 'min_counts': {'q': 0}}),
            (
                True,
                {
                    'together': [
                        {**other, 'strict': False},
                        {**fewer, 'min_count': 2},
                    ]
                },
            ),
            (False, {'together': []}),
            (False, {'at': '', 'members': 'w', 'min_count': 1}),
            (False, {**softer, 'scope': 'zone', 'strict': False}),
            (False, {'class': 'one', 'min_counts': {'w': 1}}),
        ):
            found = self._found(
                ['relaxations'], [{'change': change, 'text': 'fits'}]
            )
            self.assertIs(helps, not found, (change, found))

    def test_conflict_of_pins_alone_passes(self):
        apart = builders.problem(
            racks(a=(2,), b=(2,)),
            group([policy('affinity', 'rack')], w=2),
            pinned={'w-0': 'a1', 'w-1': 'b1'},
        )
        self.assertEqual([], error_paths(apart, right(apart)))

    def test_part_not_verified_in_time_is_no_fault(self):
        hurried = dataclasses.replace(REFUSED, time_limit=0)
        found = list(
            verify.findings(hurried, answer_schema.parse(right(REFUSED)))
        )
        self.assertIn('$.conflict', [each.where for each in found])
        for each in found:
            self.assertEqual(
                (False, 'was not verified in time'),
                (each.is_error, each.text),
            )
