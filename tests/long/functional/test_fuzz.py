# SPDX-License-Identifier: Apache-2.0
"""Fuzzing of the API: a request takes effect as a whole or is refused."""

import copy
import json
import re
import urllib.parse

import hypothesis
from hypothesis import strategies
import requests
import webob.exc

from nova_groupext import objects
from nova_groupext.cloud import accounts
from nova_groupext.objects import states
from tests import shares
from tests.functional import base as functional
from tests.functional.api import base
from tests.property import mutants

MEMBER = functional.member()
THREE = {'members': {'a': {**MEMBER, 'count': 3}}}
# Right bodies with something of everything.
GROUPS = (
    {
        'name': 'shop',
        'description': 'numbers',
        'hold': True,
        'expires_in': 60,
        'client_token': 'once',
        'topology': {
            'members': {'db': {**MEMBER, 'availability_zone': 'az1'}},
            'groups': {
                'front': {
                    'members': {'web': {**MEMBER, 'count': 3, 'min_count': 2}},
                    'policies': [
                        {'type': 'spread', 'scope': 'rack', 'max_skew': 1}
                    ],
                }
            },
            'policies': [
                {'type': 'survive', 'scope': 'host', 'min_members': 1}
            ],
            'relationships': [
                {
                    'name': 'queries',
                    'between': ['db', 'front'],
                    'bandwidth': 10,
                    'policies': [
                        {
                            'type': 'network-proximity',
                            'scope': 'zone',
                            'strict': False,
                            'weight': 2,
                        }
                    ],
                }
            ],
        },
    },
    {
        'name': 'cache',
        'hold': False,
        'topology': {
            'members': {
                'a': {'flavor': 'm1.tiny', 'boot_from_volume': True},
                'b': MEMBER,
            },
            'policies': [
                {'type': 'anti-affinity', 'scope': 'host', 'max_per_domain': 1}
            ],
        },
    },
)
ACTIONS = (
    {'hold': None},
    {'hold': {}},
    {'extend': None},
    {'extend': {'expires_in': 60}},
    {'release': None},
    {'release': {'members': ['a-0', 'a-1']}},
    {'release': {'members': None}},
    {'adopt': {'servers': {'a-0': MEMBER['image'], 'a-1': 'a server'}}},
)
REVISIONS = (
    {'generation': 1, 'keep_server': True, 'topology': THREE},
    {
        'generation': 1,
        'name': 'new',
        'description': None,
        'expires_in': 60,
        'keep_server': False,
        'topology': GROUPS[0]['topology'],
    },
)
BOOTS = (
    {'boot': None},
    {'boot': {}},
    {
        'boot': {
            'servers': {
                'default': {'networks': 'none', 'metadata': {'a': 'b'}},
                'a': {
                    'name': '{member}',
                    'description': 'numbers',
                    'image': MEMBER['image'],
                    'networks': [{'uuid': MEMBER['image'], 'tag': 'x'}],
                    'key_name': 'mine',
                    'user_data': 'eA==',
                    'security_groups': [{'name': 'default'}],
                    'config_drive': True,
                    'tags': ['a', 'b'],
                    'block_device_mapping_v2': [
                        {
                            'boot_index': 0,
                            'uuid': MEMBER['image'],
                            'source_type': 'image',
                            'destination_type': 'local',
                        }
                    ],
                },
                'a-1': {},
            }
        }
    },
)

# Stands for what json.dumps() cannot write.
DEEP = 'nested without end'
ODD = [
    *mutants.ODD,
    *(DEEP, 'a\0', '\u202e', 'a ', 'a-0', 'x' * 256, 10**400, -1.5, 1e-300),
    *('m1.tiny', 'az1:cmp-1', 'db', 'web', '../..', "'; --", 'PLANNED'),
    *({'members': {}}, {'members': {'db': MEMBER}}, [MEMBER], ['a', 'a']),
]
JSON = 'application/json'
TYPES = (*[JSON] * 12, '', 'text/plain', 'text/html', f'{JSON}; charset=utf-7')

KEY = re.compile(rb'"(?:[^"\\]|\\.)*": ')
REFUSALS = (400, 403, 404, 409, 415)
# The API says this of a TypeError, which nobody has foreseen.
UNFORESEEN = webob.exc.HTTPBadRequest.explanation

# Of each kind of request.
EXAMPLES = 200

BOOTED = {**GROUPS[0], **BOOTS[0]}


@strategies.composite
def bodies(draw, seeds):
    """A valid body or a mutation of one: (bytes, content type)."""
    raw = {'body': copy.deepcopy(draw(strategies.sampled_from(seeds)))}
    for _change in range(draw(strategies.integers(0, 3))):
        if raw:
            mutants.change(draw, raw, ODD)
    data = json.dumps(raw.get('body')).encode()
    data = data.replace(f'"{DEEP}"'.encode(), b'[' * 9000 + b']' * 9000)
    kind, keys = draw(strategies.integers(0, 9)), [*KEY.finditer(data)]
    if kind == 0:
        at = draw(strategies.integers(0, len(data)))
        data = data[:at] + draw(strategies.binary(max_size=3)) + data[at:]
    elif kind == 1 and keys:
        key = draw(strategies.sampled_from(keys))
        at = key.start()
        data = data[:at] + key.group() + b'1, ' + data[at:]
    return data, draw(strategies.sampled_from(TYPES))


def queries():
    """Query strings of lists, mostly with known parameter names."""
    names = ('limit', 'marker', 'name', 'status', 'all_projects', 'x', '')
    values = strategies.one_of(
        strategies.sampled_from(['1', '0', 'HELD', 'true', '\0', '9' * 5000]),
        strategies.text(max_size=5),
        strategies.uuids().map(str),
        strategies.binary(max_size=3),
    )
    pairs = strategies.tuples(strategies.sampled_from(names), values)
    return strategies.lists(pairs, max_size=3).map(urllib.parse.urlencode)


def members_of(node):
    """Count the members of a topology."""
    own = (each.get('count', 1) for each in node.get('members', {}).values())
    return sum(own) + sum(map(members_of, node.get('groups', {}).values()))


def stripped(value):
    """Return a topology without its empty parts: they have no meaning."""
    if isinstance(value, dict):
        filled = {k: v for k, v in value.items() if v not in ([], {})}
        return {name: stripped(each) for name, each in filled.items()}
    if isinstance(value, list):
        return [stripped(each) for each in value]
    return value


class TestFuzz(base.ApiTestCase):
    def send(self, method, path, data=None, content_type=JSON):
        """Send a request; return its response, which must be well formed."""
        response = requests.request(
            method,
            f'{self.cloud.url}/compute/v2.1{functional.GROUPS}{path}',
            data=data,
            headers={
                'X-Auth-Token': accounts.by_name('demo').token,
                'Content-Type': content_type,
            },
            timeout=60,
        )
        hypothesis.event(f'{method} {response.status_code}')
        if response.status_code >= 400:
            self.assertIn(response.status_code, REFUSALS, response.text)
            [fault] = response.json().values()
            self.assertEqual(response.status_code, fault['code'])
            self.assertTrue(fault['message'])
            self.assertNotEqual(UNFORESEEN, fault['message'])
        return response

    @shares.with_examples(EXAMPLES)
    @hypothesis.given(
        bodies([{'vrt_group': group} for group in (*GROUPS, BOOTED)])
    )
    def test_group_creation_is_all_or_nothing(self, sent):
        before = self.stored_rows()

        response = self.send('POST', '', *sent)

        if response.status_code == 202:
            made = response.json()['vrt_group']
            given = json.loads(sent[0])['vrt_group']
            self.assertEqual(
                stripped(given['topology']), stripped(made['topology'])
            )
            self.assertEqual(given['name'], made['name'])
            self.assertEqual(
                members_of(given['topology']), len(made['members'])
            )
            shown = self.send('GET', f'/{made["id"]}').json()['vrt_group']
            # Its servers are not waited for.
            self.assertEqual(made | {'boot': None}, shown | {'boot': None})
            self.delete_all_groups()
        else:
            self.assertEqual(before, self.stored_rows())

    @shares.with_examples(EXAMPLES)
    @hypothesis.given(
        bodies(ACTIONS), strategies.sampled_from(sorted(states.Group))
    )
    def test_action_is_all_or_nothing(self, sent, status):
        group = self.group_in_status(status)
        before = self.stored_rows()

        response = self.send('POST', f'/{group}/action', *sent)

        if response.status_code == 202:
            [(action, given)] = json.loads(sent[0]).items()
            now = objects.VRTGroup.get(self.context, group)
            done = {member.path: member.status for member in now.members}
            if action == 'release':
                named = (given or {}).get('members') or done
                self.assertEqual({'RELEASED'}, {done[path] for path in named})
                others = [done[path] for path in done if path not in named]
                self.assertNotIn('RELEASED', others)
            else:
                expected = {'hold': 'PLANNING', 'extend': 'HELD'}[action]
                self.assertEqual(expected, now.status)
                self.assertEqual(1, len(set(done.values())))
        else:
            self.assertEqual(before, self.stored_rows())

    @shares.with_examples(EXAMPLES)
    @hypothesis.given(bodies([{'vrt_group': each} for each in REVISIONS]))
    def test_revision_is_all_or_nothing(self, sent):
        group = self.group_in_status(states.Group.PLANNED)
        self.change_row(group, generation=1)
        before = self.stored_rows()

        response = self.send('PUT', f'/{group}', *sent)

        if response.status_code == 202:
            given = json.loads(sent[0])['vrt_group']
            now = response.json()['vrt_group']
            if 'topology' in given:
                self.assertEqual(
                    stripped(given['topology']), stripped(now['topology'])
                )
        else:
            self.assertEqual(before, self.stored_rows())

    @shares.with_examples(EXAMPLES)
    @hypothesis.given(bodies(BOOTS))
    def test_boot_is_accepted_or_refused(self, sent):
        group = self.group_in_status(states.Group.HELD)
        self.set_members(group, states.Member.RELEASED)
        members = self.group(group)['members']

        response = self.send('POST', f'/{group}/action', *sent)

        if response.status_code == 202 and 'boot' in json.loads(sent[0]):
            now = self.eventually(
                lambda: self.group(group),
                lambda now: now['boot']['status'] != 'booting',
            )
            self.assertEqual(
                ('done', 0), (now['boot']['status'], now['boot']['missing'])
            )
        self.assertEqual(members, self.group(group)['members'])

    @shares.with_examples(EXAMPLES)
    @hypothesis.given(
        strategies.sampled_from(['', '/detail', '/capabilities']),
        queries(),
    )
    def test_a_query_is_answered_or_refused(self, path, query):
        self.group_in_status(states.Group.HELD)

        response = self.send('GET', f'{path}?{query}')

        if response.status_code == 200 and not path.endswith('s'):
            self.assertIsInstance(response.json()['vrt_groups'], list)

    @shares.with_examples(EXAMPLES)
    @hypothesis.given(
        strategies.sampled_from(['GET', 'DELETE', 'POST']),
        strategies.one_of(
            strategies.text(max_size=5),
            strategies.binary(max_size=5),
            strategies.uuids().map(str),
        ),
    )
    def test_unknown_or_invalid_group_id_is_refused(self, method, name):
        name = urllib.parse.quote(name, safe='').replace('%2F', '')
        path = f'/group-{name}'
        if method == 'POST':
            path = f'{path}/action'

        response = self.send(method, path, b'{"hold": null}')

        self.assertIn(response.status_code, (400, 404))

    def group_in_status(self, status):
        """Return the uuid of the only group, set to a status."""
        groups = objects.VRTGroup._list(self.context)
        uuid = groups[0].uuid if groups else self.store_group(topology=THREE)
        self.set_status(uuid, status)
        return uuid
