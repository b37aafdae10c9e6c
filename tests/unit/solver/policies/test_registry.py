# SPDX-License-Identifier: Apache-2.0
"""A package outside of the product adds policy types.

No other change is needed: its types are validated, planned in the child
process, refused, explained, relaxed, judged for moves, drawn and verified.
"""

from importlib import metadata
import pathlib
import runpy
import subprocess
import sys
from unittest import mock

from oslotest import base

from nova_groupext.solver.language import validation
from nova_groupext.solver.model import answers
from nova_groupext.solver.moves import move_check
from nova_groupext.solver.policies import base as policies
from nova_groupext.solver.policies import registry
from nova_groupext.solver.solve import child
from nova_groupext.solver.solve import decide
from nova_groupext.solver.solve import picture
from nova_groupext.solver.solve import summary
from nova_groupext.solver.verify import answer_schema
from nova_groupext.solver.verify import verify
from tests.toys import fixture
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import policy

ROOT = pathlib.Path(__file__).parents[4]

LEADER = policy('leader', 'rack')
BATCHES = policy('batches', 'rack', size_of_batch=3)

# A process that imports no more than the API and the scheduler do.
LIGHT = """
import sys
from nova_groupext.api import app
from nova_groupext.solver.language import topology
from nova_groupext.solver.policies import registry
assert {'leader', 'spread'} <= registry.types().keys()
heavy = {'numpy', 'highspy', 'nova_groupext.solver.exact'}
sys.exit(heavy & sys.modules.keys() or None)
"""

# Policy types are loaded when they are needed, not before a fork.
LAZY = """
import sys
from nova_groupext.objects import group
from nova_groupext.solver.language import topology
from nova_groupext.solver.policies import registry
sys.exit(registry.types.cache_info().currsize)
"""


class TestToyPolicies(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(fixture.ToyPolicies())

    def problem(self, *policies, cpus=(8, 8), **members):
        return builders.problem(
            builders.racks(a=cpus[:1], b=cpus[1:]), group(policies, **members)
        )

    def test_parameters_are_validated(self):
        [read] = self.problem(policy('batches', 'rack'), w=2).topology.policies

        self.assertEqual(2, read.size_of_batch)
        for wrong in ({'size_of_batch': 0}, {'max_skew': 1}):
            self.assertRaisesRegex(
                validation.InvalidInput,
                r'^\$\.topology\.policies\[0\]\.',
                self.problem,
                {**BATCHES, **wrong},
                w=2,
            )

    def test_child_process_plans_a_policy_with_nothing_but_a_meaning(self):
        answer = decide.decide(self.problem(LEADER, w=3), child.run)

        self.assertEqual('placed', answer.status, answer)
        self.assertEqual(
            {'a1': ['w-0'], 'b1': ['w-1', 'w-2']}, builders.by_host(answer)
        )

    def test_child_process_plans_a_sum_over_domains(self):
        answer = decide.decide(
            self.problem(BATCHES, w=6, cpus=(5, 5)), child.run
        )

        self.assertEqual('placed', answer.status, answer)
        self.assertEqual(
            [3, 3], [*map(len, builders.by_host(answer).values())]
        )

    def test_soft_policy_costs_its_violation(self):
        soft = {**BATCHES, 'strict': False, 'weight': 2.5}
        answer = decide.decide(self.problem(soft, w=4), child.run)

        self.assertEqual(5, answer.cost['soft'])
        self.assertEqual(5, answer.cost['bound'])
        [violation] = answer.violations
        self.assertEqual(
            {'type': 'batches', 'scope': 'rack'}, violation['policy']
        )

    def test_refusal_is_explained_and_relaxed(self):
        problem = self.problem(LEADER, w=3, cpus=(8, 0))
        answer = decide.decide(problem, child.run)

        self.assertEqual('refused', answer.status, answer)
        [item] = [i for i in answer.conflict if i['kind'] == 'policy']
        self.assertEqual('vrt.leader', item['code'])
        self.assertEqual('rack leader isolation of the group', item['text'])
        self.assertIn(
            'fits if the rack leader isolation of the group is soft',
            [each['text'] for each in answer.relaxations],
        )
        self.assertIn('leader isolation', summary.write(problem, answer))
        self.assertEqual([], self.findings(problem, answer))

    def findings(self, problem, answer):
        raw = answer_schema.parse(answer.to_dict())
        return [*verify.findings(problem, raw)]

    def test_plan_is_drawn_and_verified(self):
        problem = self.problem(LEADER, BATCHES, w=4)
        answer = decide.decide(problem, child.run)

        self.assertEqual('refused', answer.status)
        problem = self.problem(LEADER, w=4)
        answer = decide.decide(problem, child.run)
        self.assertIn('<svg', picture.write(problem, answer))
        self.assertEqual([], self.findings(problem, answer))
        wrong = answers.Answer(
            **{
                **answer.to_dict(),
                'placement': {f'w-{n}': 'a1' for n in range(4)},
            }
        )
        self.assertNotEqual([], self.findings(problem, wrong))

    def test_moves_are_judged(self):
        problem = self.problem(LEADER, w=3)
        others = {'w-0': {'a1'}, 'w-1': {'b1'}}
        move = move_check.Move(problem, others, 'w-2', 'b1')

        self.assertTrue(move.is_bound)
        self.assertTrue(move.allows('b1'))
        self.assertFalse(move.allows('a1'))

    def test_moves_in_progress_count_with_every_end_state(self):
        problem = self.problem(LEADER, w=3)
        others = {'w-0': {'a1', 'b1'}, 'w-1': {'b1'}}
        move = move_check.Move(problem, others, 'w-1', None)

        # The leader may end on either host.
        self.assertEqual((1, 0), move.cost('b1'))

    def test_documentation_lists_installed_types(self):
        conf = runpy.run_path(str(ROOT / 'doc/source/conf.py'))
        lines = [line.strip() for line in conf['describe_policy_types']()]

        self.assertIn('``leader``', lines)
        self.assertIn(
            'Facts: ``is_symmetric``, ``is_bound_by_required``; sees counts.',
            lines,
        )
        self.assertIn(
            '* ``size_of_batch``: type integer, minimum 1, maximum 1000000',
            lines,
        )

    def test_types_are_loaded_without_numpy_and_the_solver(self):
        subprocess.run([sys.executable, '-c', LIGHT], check=True)

    def test_imports_load_no_type(self):
        subprocess.run([sys.executable, '-c', LAZY], check=True)


class TestUnknownType(base.BaseTestCase):
    def test_problem_with_an_unknown_type_is_invalid(self):
        self.assertRaisesRegex(
            validation.InvalidInput,
            r'^\$\.topology\.policies\[0\]\.type: ',
            builders.problem,
            builders.racks(a=(8,)),
            group([LEADER], w=2),
        )


class TestTypes(base.BaseTestCase):
    def types(self, **values):
        points = [
            metadata.EntryPoint(name, value, registry.GROUP)
            for name, value in values.items()
        ]
        with mock.patch.object(metadata, 'entry_points', lambda group: points):
            return registry.types.__wrapped__()

    def test_name_of_the_entry_point_is_that_of_the_type(self):
        value = 'nova_groupext.solver.policies.spread:Spread'

        self.assertEqual(['spread'], [*self.types(spread=value)])
        self.assertRaisesRegex(
            RuntimeError, 'is the policy type spread', self.types, even=value
        )

    def test_other_classes_are_refused(self):
        for value in ('collections:Counter', 'collections'):
            self.assertRaisesRegex(
                RuntimeError, 'is no policy type', self.types, other=value
            )

    def test_type_without_a_meaning_is_refused(self):
        value = 'nova_groupext.solver.policies.base:Policy'

        self.assertRaisesRegex(
            RuntimeError, 'has no meaning', self.types, other=value
        )
        policy = policies.Policy(at='', scope='host', sides=(), where='')
        self.assertRaises(NotImplementedError, policy.violation, None)

    def test_missing_installation_is_an_error(self):
        self.assertRaisesRegex(RuntimeError, 'install', self.types)
