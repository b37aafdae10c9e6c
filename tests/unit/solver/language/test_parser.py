# SPDX-License-Identifier: Apache-2.0
"""The topology language: parsed topologies, and JSON paths of errors."""

import copy

from oslotest import base

from nova_groupext.solver.language import parser
from nova_groupext.solver.language import schemas
from nova_groupext.solver.language import topology

LEVELS = ('host', 'rack', 'zone')
MEMBER = {
    'properties': {'class': {'type': 'string'}, **schemas.NAMES},
    'required': ['class'],
}
ONE = {'class': 'small'}

ANALYTICS = {
    'members': {'master': ONE},
    'groups': {
        'workers': {
            'members': {
                'worker': {**ONE, 'count': 12, 'min_count': 10},
            },
            'policies': [{'type': 'spread', 'scope': 'rack'}],
        },
    },
    'policies': [{'type': 'affinity', 'scope': 'zone', 'weight': 2.0}],
    'relationships': [
        {
            'name': 'shuffle',
            'between': ['master', 'workers'],
            'bandwidth': 10,
            'policies': [
                {
                    'type': 'network-proximity',
                    'scope': 'rack',
                    'strict': False,
                },
                {'type': 'exclusive', 'scope': 'host'},
            ],
        },
    ],
}


def parse(raw, **kwargs):
    return parser.parse(raw, levels=LEVELS, member_schema=MEMBER, **kwargs)


def nested(depth):
    raw = {}
    for _ in range(depth):
        raw = {'groups': {'g': raw}}
    return raw


class TestParse(base.BaseTestCase):
    def test_members_come_in_path_order(self):
        paths = [member.path for member in parse(ANALYTICS).members]
        workers = [f'workers/worker-{n}' for n in range(12)]
        self.assertEqual(['master', *workers], paths)

    def test_member_sets_have_counts(self):
        master, worker = parse(ANALYTICS).member_sets
        self.assertEqual((1, 1), (master.count, master.min_count))
        self.assertEqual((12, 10), (worker.count, worker.min_count))
        self.assertEqual(('workers', 'worker'), (worker.node, worker.name))
        self.assertEqual(ONE, worker.spec)

    def test_min_count_without_count_is_one_optional_member(self):
        raw = {'members': {'extra': {**ONE, 'min_count': 0}}}
        (member_set,) = parse(raw).member_sets
        self.assertEqual((1, 0), (member_set.count, member_set.min_count))
        self.assertEqual(['extra'], [m.path for m in member_set.members])

    def test_a_count_of_one_numbers_its_member(self):
        raw = {'members': {'web': {**ONE, 'count': 1}}}
        self.assertEqual(['web-0'], [m.path for m in parse(raw).members])

    def test_member_set_that_may_grow_has_count_members(self):
        tree = parse({'members': {'w': {**ONE, 'count': 0, 'max_count': 3}}})

        [member_set] = tree.member_sets
        self.assertEqual((0, 0), (member_set.count, member_set.min_count))
        self.assertEqual((), tree.members)

    def test_names_are_those_of_the_members_that_there_are(self):
        names = ['w-10', 'w-9']
        raw = {'w': {**ONE, 'count': 3, 'min_count': 2, 'names': names}}

        tree = parse({'members': raw})

        self.assertEqual(['w-9', 'w-10'], [m.path for m in tree.members])
        [member_set] = tree.member_sets
        self.assertEqual((2, 2), (member_set.count, member_set.min_count))

    def test_more_members_than_max_count_may_have_names(self):
        names = ['w-0', 'w-1']
        raw = {'w': {**ONE, 'count': 0, 'max_count': 1, 'names': names}}

        self.assertEqual(2, len(parse({'members': raw}).members))

    def test_policies_of_a_member_include_its_successor(self):
        successor = 'w-0+' + 'a' * 32
        near = {
            'between': ['w-0', 'db'],
            'policies': [{'type': 'affinity', 'scope': 'host'}],
        }
        tree = parse(
            {
                'members': {
                    'w': {
                        **ONE,
                        'count': 2,
                        'names': ['w-0', 'w-1', successor],
                    },
                    'db': ONE,
                },
                'relationships': [near],
            }
        )

        [policy] = tree.policies
        self.assertEqual((('w-0', successor, 'db'),), policy.sides)

    def test_successors_count_for_the_length_of_path_names(self):
        raw = {'members': {'w': {**ONE, 'max_surge': 1}}}

        parse(raw, limits=topology.Limits(path_length=34))

        self.assertRaises(
            parser.InvalidInput,
            parse,
            *(raw,),
            limits=topology.Limits(path_length=33),
        )

    def test_policies_without_members_yet_are_left_out(self):
        apart = {'type': 'anti-affinity', 'scope': 'host'}
        none = {**ONE, 'count': 0, 'max_count': 2, 'policies': [apart]}
        near = {
            'between': ['w-1', 'v'],
            'policies': [{'type': 'network-proximity', 'scope': 'rack'}],
        }

        tree = parse(
            {'members': {'w': none, 'v': ONE}, 'relationships': [near]}
        )

        self.assertEqual((), tree.policies)
        [relationship] = tree.relationships
        self.assertEqual(((), ('v',)), relationship.sides)

    def test_policy_covers_all_members_below_its_node(self):
        affinity, *_, spread = parse(ANALYTICS).policies
        workers = tuple(f'workers/worker-{n}' for n in range(12))
        self.assertEqual((('master', *workers),), affinity.sides)
        self.assertEqual((workers,), spread.sides)

    def test_relationship_has_pairs_for_proximity_else_the_union(self):
        _, exclusive, proximity, _ = parse(ANALYTICS).policies
        workers = tuple(f'workers/worker-{n}' for n in range(12))
        self.assertEqual('shuffle', proximity.at)
        self.assertEqual((('master',), workers), proximity.sides)
        self.assertEqual((('master', *workers),), exclusive.sides)

    def test_the_bandwidth_of_a_relationship_reaches_its_policies(self):
        _, _, proximity, _ = parse(ANALYTICS).policies
        self.assertEqual(10, proximity.bandwidth)

    def test_omitted_options_have_defaults(self):
        (policy,) = parse(
            {
                'members': {'a': {'class': 'small'}},
                'policies': [{'type': 'spread', 'scope': 'rack'}],
            }
        ).policies
        self.assertTrue(policy.strict)
        self.assertEqual(
            (1, 1, 2),
            (policy.weight, policy.max_skew, policy.min_domains),
        )

    def test_between_matches_subgroups_member_sets_and_members(self):
        raw = {
            'groups': {'top': copy.deepcopy(ANALYTICS)},
            'relationships': [
                {'name': 'a', 'between': ['top/master', 'top/workers']},
                {
                    'name': 'b',
                    'between': ['top/workers/worker-3', 'top/master'],
                },
                {'name': 'c', 'between': ['top/workers/worker', 'top/master']},
            ],
        }
        sides = [r.sides[0] for r in parse(raw).relationships[:3]]
        workers = tuple(f'top/workers/worker-{n}' for n in range(12))
        self.assertEqual(
            [('top/master',), ('top/workers/worker-3',), workers], sides
        )

    def test_policy_on_a_member_covers_its_member_set(self):
        spread = {'type': 'spread', 'scope': 'rack'}
        raw = {
            'members': {
                'web': {**ONE, 'count': 2, 'policies': [spread]},
                'db': ONE,
            }
        }
        parsed = parse(raw)
        (policy,) = parsed.policies
        self.assertEqual('web', policy.at)
        self.assertEqual((('web-0', 'web-1'),), policy.sides)
        self.assertEqual('$.topology.members.web.policies[0]', policy.where)
        self.assertEqual(
            [ONE, ONE], [member_set.spec for member_set in parsed.member_sets]
        )

    def test_proximity_among_three_parts_has_a_side_for_each(self):
        near = {'type': 'network-proximity', 'scope': 'rack'}
        members = dict.fromkeys('abc', ONE)
        tie = {'name': 't', 'between': ['a', 'b', 'c'], 'policies': [near]}
        (policy,) = parse(
            {'members': members, 'relationships': [tie]}
        ).policies
        self.assertEqual((('a',), ('b',), ('c',)), policy.sides)

    def test_parts_of_other_groups_match_given_outsiders(self):
        far = [
            {'type': 'anti-affinity', 'scope': 'rack', 'strict': False},
            {'type': 'network-proximity', 'scope': 'rack', 'strict': False},
        ]
        tie = {
            'name': 't',
            'between': [
                'a',
                {'group': 'g', 'path': 'db'},
                {'group': 'h', 'path': 'x'},
            ],
            'policies': far,
        }
        raw = {'members': {'a': ONE}, 'relationships': [tie]}

        alone = parse(raw)
        among = parse(
            raw,
            outsiders=(
                *('/g/db-0', '/g/db-1', '/g/db/c', '/g/db-x'),
                *('/g/dbs', '/h/y'),
            ),
        )

        [apart] = alone.policies
        self.assertEqual((('a',),), apart.sides)
        self.assertEqual(['a'], [m.path for m in alone.members])
        related = ('/g/db-0', '/g/db-1', '/g/db/c')
        apart, near = among.policies
        self.assertEqual((('a', *related),), apart.sides)
        self.assertEqual((('a',), related), near.sides)
        others = {'/g/db-x', '/g/dbs', '/h/y'}
        self.assertEqual(
            {'a', *related, *others}, {m.path for m in among.members}
        )

    def test_single_member_of_another_group_has_no_numbered_ones(self):
        tie = _tie('master', {'group': 'g', 'path': 'db'})['relationships'][0]
        raw = {'members': {'master': ONE}, 'relationships': [tie]}

        [relationship] = parse(
            raw, outsiders=('/g/db', '/g/db-2')
        ).relationships

        self.assertEqual((('master',), ('/g/db',)), relationship.sides)

    def test_order_of_the_input_does_not_matter(self):
        raw = copy.deepcopy(ANALYTICS)
        raw['relationships'][0]['policies'].reverse()
        shuffled = dict(reversed(raw.items()))
        first = [(p.at, p.type) for p in parse(ANALYTICS).policies]
        second = [(p.at, p.type) for p in parse(shuffled).policies]
        self.assertEqual(first, second)

    def test_limits_are_inclusive(self):
        limits = topology.Limits(
            depth=2,
            width=2,
            groups=2,
            relationships=1,
            members=13,
            policies=4,
            name_length=9,
            path_length=len('workers/worker-123456789'),
        )
        self.assertEqual(13, len(parse(ANALYTICS, limits=limits).members))


def _with(**changes):
    return {**copy.deepcopy(ANALYTICS), **changes}


def _policy(**options):
    return {'policies': [{'type': 'survive', 'scope': 'rack', **options}]}


def _tie(*parts, **others):
    return _with(relationships=[{'name': 't', 'between': [*parts], **others}])


class TestInvalidInput(base.BaseTestCase):
    """Every kind of mistake, and its JSON path."""

    def _refused(self, path, raw, **limits):
        error = self.assertRaises(
            parser.InvalidInput,
            parse,
            raw,
            limits=topology.Limits(**limits) if limits else None,
        )
        self.assertEqual(path, error.path)
        self.assertEqual(f'{error.path}: {error.reason}', str(error))
        self.assertTrue(str(error).isascii() and str(error).isprintable())

    def test_malformed_value_is_refused_with_its_path(self):
        for path, raw in (
            ('$.topology', []),
            ('$.topology.member', {'member': {}}),
            ('$.topology.members', {'members': []}),
            ('$.topology.members.a', {'members': {'a': 1}}),
            ('$.topology.members.a.class', {'members': {'a': {}}}),
            ('$.topology.members.a.x', {'members': {'a': {**ONE, 'x': 1}}}),
            ('$.topology.groups.g', {'groups': {'g': None}}),
            ('$.topology.policies', {'policies': {}}),
            ('$.topology.policies[0]', {'policies': ['spread']}),
            (
                '$.topology.members.a.policies[0]',
                {'members': {'a': {**ONE, 'policies': ['spread']}}},
            ),
            ('$.topology.relationships[0]', {'relationships': [[]]}),
            ('$.topology.relationships[0].between', {'relationships': [{}]}),
            (
                '$.topology.relationships[0].between',
                {'relationships': [{'between': ['master']}]},
            ),
            ('$.topology.relationships[0].between[1]', _tie('master', '')),
            ('$.topology["a b"]', {'a b': 1}),
            ('$.topology["\\n\\u2028"]', {'\n\u2028': 1}),
        ):
            self._refused(path, raw)

    def test_invalid_count_is_refused(self):
        for key, value in (
            ('count', 0),
            ('count', -1),
            ('count', 1.5),
            ('count', True),
            ('count', '3'),
            ('count', float('nan')),
            ('count', float('inf')),
            ('min_count', -1),
            ('min_count', 2),
            ('min_count', False),
            ('max_count', 2),
        ):
            raw = {'members': {'a': {**ONE, key: value}}}
            self._refused(f'$.topology.members.a.{key}', raw)
        for count, max_count in ((0, 0), (3, 2), (1, 2.5)):
            counts = {'count': count, 'max_count': max_count}
            raw = {'members': {'a': {**ONE, **counts}}}
            self._refused('$.topology.members.a.max_count', raw)

    def test_member_that_cannot_come_is_no_part_of_a_relationship(self):
        growing = {**ONE, 'count': 0, 'max_count': 2}
        for part in ('w-2', 'v-0', 'w-x'):
            self._refused(
                '$.topology.relationships[0].between[0]',
                {
                    'members': {'w': growing, 'v': ONE},
                    'relationships': [{'between': [part, 'v']}],
                },
            )

    def test_invalid_or_repeated_name_is_refused(self):
        three = {**ONE, 'count': 3}
        for path, raw in (
            ('$.topology.members["a/b"]', {'members': {'a/b': ONE}}),
            ('$.topology.members[""]', {'members': {'': ONE}}),
            ('$.topology.members["."]', {'members': {'.': ONE}}),
            ('$.topology.members[".."]', {'members': {'..': three}}),
            ('$.topology.groups["g/"]', {'groups': {'g/': {}}}),
            ('$.topology.groups["/"]', {'groups': {'/': {}}}),
            ('$.topology.groups[".."]', {'groups': {'..': {}}}),
            (
                '$.topology.groups.a',
                {'members': {'a': ONE}, 'groups': {'a': {}}},
            ),
            (
                '$.topology.groups.a',
                {'members': {'a': three}, 'groups': {'a': {}}},
            ),
            (
                '$.topology.groups.a-1',
                {'members': {'a': three}, 'groups': {'a-1': {}}},
            ),
            (
                '$.topology.members.a-2',
                {'members': {'a': three, 'a-2': ONE}},
            ),
            (
                '$.topology.relationships[1].name',
                _with(relationships=ANALYTICS['relationships'] * 2),
            ),
        ):
            self._refused(path, raw)

    def test_name_with_dots_is_accepted(self):
        raw = {'members': {'...': ONE, '.a': ONE, 'a.': ONE, 'a..b': ONE}}
        self.assertEqual(4, len(parse(raw).members))

    def test_name_with_a_number_beyond_the_count_is_accepted(self):
        raw = {'members': {'a': {**ONE, 'count': 2}, 'a-2': ONE}}
        self.assertEqual(3, len(parse(raw).members))

    def test_invalid_policy_is_refused(self):
        where = '$.topology.policies[0]'
        for path, raw in (
            (f'{where}.type', {'policies': [{'scope': 'rack'}]}),
            (f'{where}.type', _policy(type='near')),
            (f'{where}.type', _policy(type=['spread'])),
            (f'{where}.min_members', _policy()),
            (f'{where}.min_members', _policy(min_members=0)),
            (f'{where}.scope', {'policies': [{'type': 'spread'}]}),
            (f'{where}.scope', _policy(min_members=1, scope='row')),
            (f'{where}.scope', _policy(min_members=1, scope=1)),
            (f'{where}.strict', _policy(min_members=1, strict=1)),
            (f'{where}.weight', _policy(min_members=1, weight=-1)),
            (f'{where}.weight', _policy(min_members=1, weight=True)),
            (f'{where}.weight', _policy(min_members=1, weight=float('nan'))),
            (f'{where}.weight', _policy(min_members=1, weight=1e300)),
            (f'{where}.max_skew', _policy(min_members=1, max_skew=1)),
            (f'{where}.bandwidth', _policy(min_members=1, bandwidth=1)),
            (f'{where}.max_skew', _policy(type='spread', max_skew=-1)),
            (f'{where}.min_domains', _policy(type='spread', min_domains=0)),
            (
                f'{where}.max_per_domain',
                _policy(type='anti-affinity', max_per_domain=0),
            ),
            (
                f'{where}.bandwidth',
                _policy(type='network-proximity', bandwidth=0),
            ),
        ):
            self._refused(path, raw)

    def test_invalid_relationship_is_refused(self):
        where = '$.topology.relationships[0]'
        near = {'type': 'network-proximity', 'scope': 'rack', 'bandwidth': 1}
        for path, raw in (
            (f'{where}.between[0]', _tie('nobody', 'master')),
            (f'{where}.between[1]', _tie('master', 'workers/worker-12')),
            (f'{where}.between[1]', _tie('master', '/workers')),
            (f'{where}.between[1]', _tie('master', 'shuffle')),
            (f'{where}.between', _tie('master', 'master')),
            (f'{where}.between', _tie('workers', 'workers/worker-3')),
            (f'{where}.between', _tie('workers', 'master', 'workers/worker')),
            (f'{where}.between[2]', _tie('workers', 'master', 'nobody')),
            (f'{where}.bandwidth', _tie('master', 'workers', bandwidth=0)),
            (
                f'{where}.policies[0].bandwidth',
                _tie('master', 'workers', policies=[near]),
            ),
        ):
            self._refused(path, raw)

    def test_invalid_part_of_another_group_is_refused(self):
        where = '$.topology.relationships[0]'
        other = {'group': 'g'}
        affinity = {'type': 'affinity', 'scope': 'rack'}
        for path, raw in (
            (f'{where}.between[1].group', _tie('master', {'path': 'a'})),
            (f'{where}.between[1].group', _tie('master', {'group': 1})),
            (
                f'{where}.between[1].path',
                _tie('master', {**other, 'path': ''}),
            ),
            (f'{where}.between[1].x', _tie('master', {**other, 'x': 1})),
            (f'{where}.between[1]', _tie('master', 1)),
            (f'{where}.between[1]', _tie('master', ['workers'])),
            (f'{where}.between', _tie(other, {'group': 'h'})),
            (f'{where}.between', _tie('master', other, other)),
            (
                f'{where}.between',
                _tie('master', other, {**other, 'path': 'a'}),
            ),
            (
                f'{where}.between',
                _tie(
                    'master',
                    {**other, 'path': 'a-1'},
                    {**other, 'path': 'a'},
                ),
            ),
            (
                f'{where}.policies[0].strict',
                _tie('master', other, policies=[affinity]),
            ),
            (
                f'{where}.policies[0].strict',
                _tie('master', other, policies=[{**affinity, 'strict': True}]),
            ),
        ):
            self._refused(path, raw)

    def test_topology_beyond_a_limit_is_refused(self):
        for path, limit in (
            ('$.topology.groups.workers', {'depth': 1}),
            ('$.topology.groups.workers', {'groups': 1}),
            ('$.topology.relationships[0]', {'relationships': 0}),
            (
                '$.topology.groups.workers.members.worker.count',
                {'members': 12},
            ),
            ('$.topology.relationships[0].policies[0]', {'policies': 1}),
            ('$.topology.members.master', {'name_length': 5}),
            ('$.topology.members.master', {'path_length': 5}),
            ('$.topology.groups.workers.members.worker', {'path_length': 23}),
            ('$.topology.members', {'width': 0}),
        ):
            self._refused(path, ANALYTICS, **limit)
        policies = ANALYTICS['relationships'][0]['policies']
        self._refused(
            '$.topology.relationships[0].policies',
            _tie('master', 'workers', policies=policies * 2),
            width=2,
        )
        parts = ['master', 'workers/worker-0', 'workers/worker-1']
        self._refused(
            '$.topology.relationships[0].between', _tie(*parts), width=2
        )

    def test_members_that_may_be_added_count_towards_the_limit(self):
        self._refused(
            '$.topology.members.w.count',
            {'members': {'w': {**ONE, 'count': 1, 'max_count': 4}}},
            members=3,
        )

    def test_a_count_beyond_the_limit_is_not_expanded(self):
        raw = {'members': {'a': {**ONE, 'count': 1_000_000}}}
        self._refused('$.topology.members.a.count', raw)

    def test_weight_too_large_for_a_float_is_refused(self):
        policy = {'type': 'affinity', 'scope': 'rack', 'weight': 10**400}
        self._refused('$.topology.policies[0].weight', {'policies': [policy]})

    def test_group_without_members_is_refused(self):
        empty = {'groups': {'b': {'groups': {'c': {}}}}}
        self._refused('$.topology', {})
        self._refused(
            '$.topology.groups.b',
            {'members': {'a': {'class': 'small'}}, **empty},
        )

    def test_too_deep_nesting_is_refused(self):
        deep = nested(100_000)
        self._refused('$.topology' + '.groups.g' * 16, deep)
        self._refused(
            '$.topology.members.a', {'members': {'a': {'class': deep}}}
        )
        self._refused('$.topology.policies[0]', {'policies': [{'type': deep}]})
