# SPDX-License-Identifier: Apache-2.0
"""Request bodies: parsed to a VRTGroup, or refused with path and reason."""

import copy

from nova_groupext.api import describe
from nova_groupext.conf import CONF
from nova_groupext.solver.language import validation
from tests.unit.api import base

# What is done to a good body, the JSON path and the beginning of the reason.
BAD = [
    ([], '$', 'must be a JSON object'),
    ({}, '$.vrt_group', 'is missing'),
    ({**base.body(), 'more': 1}, '$.more', 'is unknown'),
    ({'vrt_group': None}, '$.vrt_group', 'must be a JSON object'),
    (base.body(names=1), '$.vrt_group.names', 'is unknown'),
    (base.body(name=7), '$.vrt_group.name', 'must be a JSON string'),
    (base.body(name=''), '$.vrt_group.name', 'must have at least 1'),
    (base.body(name='x' * 256), '$.vrt_group.name', 'must have at most 255'),
    (base.body(name=' x'), '$.vrt_group.name', 'needs a name of printable'),
    (base.body(name='a\x00'), '$.vrt_group.name', 'needs a name of printable'),
    (base.body(description=[]), '$.vrt_group.description', 'must be a JSON'),
    (base.body(hold='false'), '$.vrt_group.hold', 'must be a JSON boolean'),
    (base.body(hold=None), '$.vrt_group.hold', 'must be a JSON boolean'),
    (base.body(expires_in=0), '$.vrt_group.expires_in', 'must be at least 1'),
    (base.body(expires_in=True), '$.vrt_group.expires_in', 'must be a JSON'),
    (
        base.body(expires_in=86401),
        '$.vrt_group.expires_in',
        'must be at most 86400',
    ),
    (base.body(client_token=''), '$.vrt_group.client_token', 'must have at'),
    (
        base.body(client_token='a '),
        '$.vrt_group.client_token',
        'needs a token',
    ),
    (base.body(None), '$.vrt_group.topology', 'must be a JSON object'),
    (base.body({}), '$.vrt_group.topology', 'describes no member'),
]

# The same for topologies; paths go on after the topology's.
BAD_TOPOLOGIES = [
    ({'memmbers': {}}, '.memmbers', 'is unknown'),
    ({'members': {'a': {}}}, '.members.a.flavor', 'is missing'),
    ({'members': {'a': {'flavor': 1}}}, '.members.a.flavor', 'must be a JSON'),
    (
        {'members': {'a': {**base.SMALL, 'class': 'c'}}},
        '.members.a.class',
        'is unknown',
    ),
    (
        {'members': {'a': {**base.SMALL, 'count': 0}}},
        '.members.a.count',
        'must be at least 1',
    ),
    (
        {'members': {'a': {**base.SMALL, 'count': 1001}}},
        '.members.a.count',
        'results in more than 1000 members in total',
    ),
    ({'members': {'a/b': base.SMALL}}, '.members["a/b"]', 'needs a name'),
    ({'members': {' a': base.SMALL}}, '.members[" a"]', 'needs a name of'),
    (
        {'groups': {'g\u200b': {'members': {'a': base.SMALL}}}},
        '.groups["g\\u200b"]',
        'needs a name of printable',
    ),
    (
        {'members': {'a': base.SMALL}, 'policies': [{'type': 'affinity'}]},
        '.policies[0].scope',
        'is missing',
    ),
    (
        {
            'members': {'a': base.SMALL},
            'policies': [{'type': 'affinity', 'scope': 'row'}],
        },
        '.policies[0].scope',
        'must be one of ["host", "zone"]',
    ),
    (
        {
            'members': {'a': base.SMALL},
            'policies': [{'type': 'closeness', 'scope': 'host'}],
        },
        '.policies[0].type',
        'must be one of ["affinity"',
    ),
    (
        {
            'members': {'a': base.SMALL},
            'relationships': [{'between': ['a', 'b']}],
        },
        '.relationships[0].between[1]',
        'matches no member',
    ),
]


def nested(depth):
    """A topology whose only member is ``depth`` subgroups down."""
    topology = {'members': {'a': base.SMALL}}
    for _level in range(depth):
        topology = {'groups': {'g': topology}}
    return topology


def boot(password, key_name):
    """Return a boot with one template."""
    template = {'adminPass': password, 'key_name': key_name}
    return {'servers': {'default': template}}


class TestRead(base.GroupTestCase):
    def refused(self, body):
        error = self.assertRaises(
            validation.InvalidInput, describe.read_body, body
        )
        return error.path, error.reason

    def test_wrong_input_is_refused_with_its_path(self):
        for body, path, reason in BAD:
            with self.subTest(path=path, reason=reason):
                refusal = self.refused(body)
                self.assertEqual(path, refusal[0])
                self.assertStartsWith(reason, refusal[1])

    def test_wrong_topology_is_refused_with_its_path(self):
        for topology, path, reason in BAD_TOPOLOGIES:
            with self.subTest(path=path, reason=reason):
                refusal = self.refused(base.body(topology))
                self.assertEqual(f'$.vrt_group.topology{path}', refusal[0])
                self.assertStartsWith(reason, refusal[1])

    def assertStartsWith(self, beginning, text):
        self.assertEqual(beginning, text[: len(beginning)])

    def test_nesting_beyond_max_depth_is_refused(self):
        limit = CONF.vrt.max_depth
        describe.read_body(base.body(nested(limit)))

        path, reason = self.refused(base.body(nested(limit + 1)))

        self.assertEqual('$.vrt_group.topology' + '.groups.g' * 7, path)
        self.assertIn('nested', reason)

    def test_list_beyond_max_entries_per_list_is_refused(self):
        CONF.set_override('max_entries_per_list', 2, 'vrt')
        self.addCleanup(CONF.clear_override, 'max_entries_per_list', 'vrt')
        members = dict.fromkeys('abc', base.SMALL)

        path, _reason = self.refused(base.body({'members': members}))

        self.assertEqual('$.vrt_group.topology.members', path)

    def test_classes_beyond_max_classes_are_refused(self):
        CONF.set_override('max_classes', 2, 'vrt')
        self.addCleanup(CONF.clear_override, 'max_classes', 'vrt')
        members = {
            f'{zone}-{n}': {**base.SMALL, 'availability_zone': zone}
            for zone in ('a', 'b', 'c')
            for n in range(2)
        }
        two = {name: m for name, m in members.items() if name[0] != 'c'}
        describe.read_body(base.body({'members': two}))

        path, reason = self.refused(base.body({'members': members}))

        self.assertEqual('$.vrt_group.topology', path)
        self.assertIn('3 member classes', reason)

    def test_path_longer_than_its_column_is_refused(self):
        long = 'g' * 255
        topology = {'members': {'a': base.SMALL}}
        for _level in range(3):
            topology = {'groups': {long: topology}}

        path, reason = self.refused(base.body(topology))

        where = '$.vrt_group.topology' + f'.groups.{long}' * 3
        self.assertEqual(f'{where}.members.a', path)
        self.assertIn('512', reason)


class TestGroup(base.GroupTestCase):
    def test_group_returns_its_definition_as_given(self):
        wanted = copy.deepcopy(base.TOPOLOGY)

        group = self.store_group(expires_in=60.0, description='numbers')

        self.assertEqual(wanted, describe.compose_topology(group))
        self.assertEqual(
            ('owner-project', 'user', 'analytics', 'numbers', True, 60),
            (
                group.project_id,
                group.user_id,
                group.name,
                group.description,
                group.hold_when_planned,
                group.expires_in,
            ),
        )

    def test_policies_of_members_are_no_part_of_their_descriptions(self):
        policies = [{'type': 'anti-affinity', 'scope': 'host'}]
        described = {**base.SMALL, 'count': 2, 'policies': policies}
        topology = {'groups': {'g': {'members': {'a': described}}}}

        group = self.store_group(topology)

        self.assertEqual(topology, describe.compose_topology(group))
        self.assertEqual(['g/a'], [policy.at for policy in group.policies])
        self.assertEqual(
            [{**base.SMALL, 'count': 2}],
            [member_set.description for member_set in group.member_sets],
        )

    def test_counted_members_are_expanded(self):
        group = self.store_group()

        self.assertEqual(
            [
                ('master', 'master'),
                ('workers/worker-0', 'workers/worker'),
                ('workers/worker-1', 'workers/worker'),
                ('workers/worker-2', 'workers/worker'),
            ],
            [(member.path, member.member_set) for member in group.members],
        )

    def test_omitted_value_gets_its_default(self):
        group = self.unstored_group()

        self.assertEqual(
            (True, CONF.vrt.default_expires_in, None, None),
            (
                group.hold_when_planned,
                group.expires_in,
                group.client_token,
                group.description,
            ),
        )

    def test_repeated_request_is_recognised(self):
        stored = self.store_group(client_token='once')

        self.assertTrue(self.is_repeated(stored))
        stored.hold_when_planned = False
        stored.expires_in = 61
        self.assertTrue(self.is_repeated(stored))

    def test_repeated_request_may_have_other_passwords(self):
        stored = self.store_group(client_token='once', boot=boot('a', 'mine'))

        again = boot('b', 'mine')
        self.assertTrue(self.is_repeated(stored, boot=again))
        self.assertEqual(boot('b', 'mine'), again)
        for other in (boot('a', 'another'), {'servers': {}}, None):
            self.assertFalse(self.is_repeated(stored, boot=other))

    def test_equal_forms_of_a_request_are_a_repetition(self):
        stored = self.store_group(client_token='once')
        self.assertTrue(self.is_repeated(stored, boot=None))
        stored = self.store_group(client_token='two', boot={'servers': {}})
        self.assertTrue(self.is_repeated(stored, client_token='two', boot={}))

    def test_different_request_is_no_repetition(self):
        stored = self.store_group(client_token='once')
        large = {**base.SMALL, 'flavor': 'large'}
        for topology, said in (
            (base.TOPOLOGY, {'hold': False}),
            (base.TOPOLOGY, {'expires_in': 61}),
            (base.TOPOLOGY, {'description': 'else'}),
            ({**base.TOPOLOGY, 'policies': []}, {}),
            ({**base.TOPOLOGY, 'members': {'master': large}}, {}),
        ):
            self.assertFalse(self.is_repeated(stored, topology, **said))

    def is_repeated(self, stored, topology=base.TOPOLOGY, **said):
        said = {'client_token': 'once', **said}
        again = self.unstored_group(topology, **said)
        return stored.request_digest == again.request_digest
