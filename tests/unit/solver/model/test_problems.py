# SPDX-License-Identifier: Apache-2.0
"""Problem files: parsed problems, and JSON paths of errors."""

import copy

from oslotest import base

from nova_groupext.solver.language import validation
from nova_groupext.solver.model import problems
from tests.unit.solver import builders

FILE = {
    'version': 1,
    'levels': ['host', 'rack'],
    'hosts': [
        {'id': 'h2', 'domains': {'rack': 'r'}, 'free': {'VCPU': 8.0}},
        {'id': 'h1', 'foreign': True},
    ],
    'classes': {
        'small': {
            'request': {'VCPU': 1},
            'hosts': ['h1', 'h2'],
            'scores': {'h1': -1.5},
            'alternatives': {'h2': [{'VCPU': 2}, {}]},
        }
    },
    'topology': {'members': {'web': {'class': 'small', 'count': 2}}},
    'pinned': {'web-1': 'h1'},
    'time_limit': 5.5,
    'seed': 7,
}


def changed(path, value):
    """The file with one value set, ``path`` being keys and indexes."""
    return builders.changed(FILE, path, value)


class TestParse(base.BaseTestCase):
    def test_hosts_are_sorted_by_id_and_have_defaults(self):
        first, second = problems.parse(FILE).hosts.values()
        self.assertEqual(problems.Host('h1', {}, {}, True), first)
        self.assertEqual(
            problems.Host('h2', {'rack': 'r'}, {'VCPU': 8}, False), second
        )

    def test_class_has_a_request_and_alternatives(self):
        small = problems.parse(FILE).class_of['web-0']
        self.assertEqual([{'VCPU': 1}], small.options('h1'))
        self.assertEqual([{'VCPU': 2}, {}], small.options('h2'))

    def test_class_without_hosts_may_use_all_hosts(self):
        raw = changed(['classes', 'small'], {'request': {}})
        small = problems.parse(raw).classes['small']
        self.assertEqual({'h1', 'h2'}, small.hosts)

    def test_omitted_values_have_defaults(self):
        raw = copy.deepcopy(FILE)
        for key in ('pinned', 'time_limit', 'seed'):
            del raw[key]
        problem = problems.parse(raw)
        self.assertEqual({}, problem.pinned)
        self.assertEqual(problems.DEFAULT_TIME_LIMIT, problem.time_limit)
        self.assertEqual(0, problem.seed)

    def test_unknown_current_hosts_are_ignored(self):
        current = {'web-0': 'h2', 'web-1': 'gone', 'gone': 'h1'}

        problem = problems.parse({**FILE, 'current': current})

        self.assertEqual({'web-0': 'h2'}, problem.current)
        self.assertFalse(problem.keeps_current)

    def test_outsiders_are_pinned_and_no_members_of_the_group(self):
        near = {'type': 'network-proximity', 'scope': 'rack', 'strict': False}
        tie = {
            'between': ['web', {'group': 'g', 'path': 'a'}],
            'policies': [near],
        }
        topology = {**FILE['topology'], 'relationships': [tie]}
        raw = {**FILE, 'topology': topology}

        problem = problems.parse(
            {**raw, 'outsiders': {'g/a': 'h2', 'g/b': 'h1'}}
        )

        outsiders = {'/g/a': 'h2', '/g/b': 'h1'}
        self.assertEqual(outsiders, problem.outsiders)
        self.assertEqual({**outsiders, 'web-1': 'h1'}, problem.pinned)
        self.assertEqual(['web-0', 'web-1'], problem.own_members)
        self.assertEqual({'web-0'}, problem.movable)
        self.assertEqual({}, problem.class_of['/g/a'].request)

    def test_host_has_one_domain_per_level_or_none(self):
        problem = problems.parse(FILE)
        self.assertEqual('h1', problem.domain('h1', 'host'))
        self.assertEqual('r', problem.domain('h2', 'rack'))
        self.assertIsNone(problem.domain('h1', 'rack'))

    def test_every_mistake_is_refused_with_its_path(self):
        nan, inf = float('nan'), float('inf')
        for where, path, value in (
            ('$.version', ['version'], 2),
            ('$.version', ['version'], True),
            ('$.verson', ['verson'], 1),
            ('$.levels', ['levels'], 'host'),
            ('$.levels', ['levels'], []),
            ('$.levels', ['levels'], ['host', 'rack', 'rack']),
            ('$.levels', ['levels'], ['host', *'abcdefgh']),
            ('$.levels[0]', ['levels'], ['rack', 'host']),
            ('$.levels[1]', ['levels', 1], ''),
            ('$.hosts', ['hosts'], {}),
            ('$.hosts[0]', ['hosts', 0], 'h1'),
            ('$.hosts[0].id', ['hosts', 0], {}),
            ('$.hosts[0].id', ['hosts', 0, 'id'], 1),
            ('$.hosts[1].id', ['hosts', 1, 'id'], 'h2'),
            ('$.hosts[0].x', ['hosts', 0, 'x'], 1),
            ('$.hosts[0].foreign', ['hosts', 0, 'foreign'], 1),
            ('$.hosts[0].free.VCPU', ['hosts', 0, 'free', 'VCPU'], -1),
            ('$.hosts[0].free.VCPU', ['hosts', 0, 'free', 'VCPU'], 1.5),
            ('$.hosts[0].free.VCPU', ['hosts', 0, 'free', 'VCPU'], True),
            ('$.hosts[0].free.VCPU', ['hosts', 0, 'free', 'VCPU'], nan),
            ('$.hosts[0].free.VCPU', ['hosts', 0, 'free', 'VCPU'], 2**63),
            ('$.hosts[0].domains.rack', ['hosts', 0, 'domains', 'rack'], 1),
            ('$.hosts[0].domains.row', ['hosts', 0, 'domains', 'row'], 'x'),
            ('$.hosts[0].domains.host', ['hosts', 0, 'domains', 'host'], 'x'),
            ('$.classes', ['classes'], []),
            ('$.classes.small', ['classes', 'small'], []),
            ('$.classes.small.request', ['classes', 'small'], {}),
            ('$.classes.small.x', ['classes', 'small', 'x'], 1),
            ('$.classes["a b"].request', ['classes', 'a b'], {}),
            (
                '$.classes.small.request.VCPU',
                ['classes', 'small', 'request', 'VCPU'],
                '1',
            ),
            (
                '$.classes.small.hosts[1]',
                ['classes', 'small', 'hosts', 1],
                'h3',
            ),
            (
                '$.classes.small.hosts[1]',
                ['classes', 'small', 'hosts', 1],
                [],
            ),
            (
                '$.classes.small.scores.h3',
                ['classes', 'small', 'scores', 'h3'],
                1,
            ),
            (
                '$.classes.small.scores.h1',
                ['classes', 'small', 'scores', 'h1'],
                -inf,
            ),
            (
                '$.classes.small.alternatives.h3',
                ['classes', 'small', 'alternatives', 'h3'],
                [{}],
            ),
            (
                '$.classes.small.alternatives.h2',
                ['classes', 'small', 'alternatives', 'h2'],
                [],
            ),
            (
                '$.classes.small.alternatives.h2[1].VCPU',
                ['classes', 'small', 'alternatives', 'h2', 1, 'VCPU'],
                -1,
            ),
            ('$.topology', ['topology'], None),
            (
                '$.topology.members.web.class',
                ['topology', 'members', 'web', 'class'],
                'large',
            ),
            ('$.topology.members.db.class', ['topology', 'members', 'db'], {}),
            ('$.pinned', ['pinned'], []),
            ('$.outsiders', ['outsiders'], []),
            ('$.current', ['current'], []),
            ('$.current.web-1', ['current'], {'web-1': 3}),
            ('$.objective', ['objective'], 'moves'),
            ('$.outsiders["g/a"]', ['outsiders'], {'g/a': 'h3'}),
            ('$.pinned.web-1', ['pinned', 'web-1'], 'h3'),
            ('$.pinned.web-1', ['pinned', 'web-1'], 3),
            ('$.pinned.web-2', ['pinned', 'web-2'], 'h1'),
            ('$.pinned.web', ['pinned', 'web'], 'h1'),
            ('$.time_limit', ['time_limit'], -1),
            ('$.time_limit', ['time_limit'], inf),
            ('$.time_limit', ['time_limit'], '5'),
            ('$.seed', ['seed'], -1),
            ('$.seed', ['seed'], 0.5),
        ):
            error = self.assertRaises(
                validation.InvalidInput, problems.parse, changed(path, value)
            )
            self.assertEqual(where, error.path)

    def test_every_missing_key_is_named(self):
        for key in ('version', 'levels', 'hosts', 'classes', 'topology'):
            raw = {k: v for k, v in FILE.items() if k != key}
            error = self.assertRaises(
                validation.InvalidInput, problems.parse, raw
            )
            self.assertEqual(f'$.{key}: is missing', str(error))

    def test_value_that_is_no_object_is_refused(self):
        for raw in (None, [], 'problem', 1):
            error = self.assertRaises(
                validation.InvalidInput, problems.parse, raw
            )
            self.assertEqual('$: must be a JSON object', str(error))

    def test_problem_beyond_the_limits_is_refused(self):
        options = [{}] * 1_001
        amounts = {f'r{n}': 1 for n in range(1_001)}
        for where, path, value in (
            ('$.hosts', ['hosts'], [{}] * 100_001),
            ('$.classes', ['classes'], dict.fromkeys(map(str, range(10_001)))),
            ('$.hosts[0].free', ['hosts', 0, 'free'], amounts),
            (
                '$.classes.small.request',
                ['classes', 'small', 'request'],
                amounts,
            ),
            (
                '$.classes.small.alternatives.h2',
                ['classes', 'small', 'alternatives', 'h2'],
                options,
            ),
            (
                '$.topology.members.web.count',
                ['topology', 'members', 'web', 'count'],
                10_001,
            ),
        ):
            error = self.assertRaises(
                validation.InvalidInput, problems.parse, changed(path, value)
            )
            self.assertEqual(where, error.path)

    def test_classes_without_hosts_share_one_set_of_hosts(self):
        raw = changed(['classes', 'any'], {'request': {}})
        raw['classes']['every'] = {'request': {}}
        classes = problems.parse(raw).classes
        self.assertIs(classes['any'].hosts, classes['every'].hosts)
