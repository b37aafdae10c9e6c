# SPDX-License-Identifier: Apache-2.0
"""Tables of valid and of invalid requests to every route of the API.

The unit tests of the API compare these tables with its routes; so this module
imports nothing of Tempest.
"""

import dataclasses
from typing import Any

UNKNOWN_ID = '7f3a9d0c-0b0e-4d3f-8d8e-0a8f2b1c9d10'
UNKNOWN_PARAMETER = '?colour=red'


@dataclasses.dataclass(frozen=True)
class Call:
    """A request; ``path`` is relative to ``/os-vrt-groups``."""

    name: str
    method: str
    path: str
    body: Any = None

    @property
    def is_action(self):
        return self.path.endswith('/action')


@dataclasses.dataclass(frozen=True)
class BadCall(Call):
    """An invalid request; ``where`` is the JSON path of its error."""

    json_path: str = ''


#: Names of the calls that the role ``reader`` permits.
READER_CALLS = {'capabilities', 'list', 'detail', 'show', 'members', 'member'}


def calls_of_project(topology):
    """Return the valid calls of routes without a group id."""
    group = {'vrt_group': {'name': 'good', 'topology': topology}}
    return [
        Call('capabilities', 'GET', '/capabilities'),
        Call('list', 'GET', ''),
        Call('detail', 'GET', '/detail'),
        Call('create', 'POST', '', group),
    ]


def calls_of_group(group):
    """Return every call for a group; all are valid, but may conflict."""
    root = f'/{group["id"]}'
    last = group['members'][-1]['path']
    described = {name: group[name] for name in ('generation', 'topology')}
    one_more = {**next(iter(group['topology']['members'].values()))}
    one_more.pop('count', None)
    return [
        Call('show', 'GET', root),
        Call('proposal', 'GET', f'{root}/proposal'),
        Call('members', 'GET', f'{root}/members'),
        Call('member', 'GET', f'{root}/members/{last}'),
        Call('update', 'PUT', root, {'vrt_group': described}),
        Call(
            'add',
            'POST',
            f'{root}/members',
            {'member': {'path': 'more', **one_more}},
        ),
        Call('remove', 'DELETE', f'{root}/members/{last}'),
        *(
            Call(name, 'POST', f'{root}/action', {name: body})
            for name, body in _actions(last).items()
        ),
        Call('delete', 'DELETE', root),
    ]


def _actions(path):
    return {
        'adopt': {'servers': {path: UNKNOWN_ID}},
        'boot': {'servers': {'default': {'networks': 'none'}}},
        'extend': {'expires_in': 3600},
        'hold': None,
        'propose': None,
        'release': {'members': [path]},
        'replan': None,
    }


def bad_calls_of_project(topology):
    """Return invalid requests to the routes without a group id."""

    def create(json_path, **group):
        body = {'vrt_group': {'name': 'bad', 'topology': topology, **group}}
        return BadCall('create', 'POST', '', body, f'$.vrt_group.{json_path}')

    def describe(json_path, **parts):
        return create(f'topology.{json_path}', topology={**topology, **parts})

    policies = {
        'policies[0].type': {'type': 'nearness', 'scope': 'host'},
        'policies[0].scope': {'type': 'affinity', 'scope': 'shelf'},
        'policies[0].min_members': {'type': 'survive', 'scope': 'host'},
        'policies[0].colour': {
            'type': 'affinity',
            'scope': 'host',
            'colour': 'red',
        },
    }
    unknown = {'a': {'flavor': UNKNOWN_ID, 'image': UNKNOWN_ID}}
    between = [{'between': ['a', 'nobody']}]
    return [
        BadCall(
            'capabilities',
            'GET',
            f'/capabilities{UNKNOWN_PARAMETER}',
            None,
            QUERY,
        ),
        BadCall('list', 'GET', UNKNOWN_PARAMETER, None, QUERY),
        BadCall('list', 'GET', '?status=held', None, 'query.status'),
        BadCall('list', 'GET', '?marker=red', None, 'query.marker'),
        BadCall(
            'list',
            'GET',
            f'?sort_key=name&marker={UNKNOWN_ID}',
            None,
            'query.marker',
        ),
        BadCall('detail', 'GET', f'/detail{UNKNOWN_PARAMETER}', None, QUERY),
        BadCall('create', 'POST', '', {}, '$.vrt_group'),
        BadCall('create', 'POST', '', [], '$'),
        create('colour', colour='red'),
        create('name', name=' blank '),
        create('name', name=''),
        create('hold', hold='yes'),
        create('expires_in', expires_in=0),
        create('expires_in', expires_in=10**9),
        create('client_token', client_token=7),
        create('topology', topology=[]),
        *(describe(at, policies=[each]) for at, each in policies.items()),
        describe('members.a.flavor', members=unknown),
        describe('members.a.flavor', members={'a': {}}),
        describe('relationships[0].between[1]', relationships=between),
        describe('colour', colour='red'),
    ]


def bad_calls_of_group(group):
    """Return invalid requests to the routes of a group."""
    root = f'/{group["id"]}'
    members = f'{root}/members'
    last = group['members'][-1]['path']

    def update(json_path, **described):
        return BadCall(
            'update', 'PUT', root, {'vrt_group': described}, json_path
        )

    return [
        BadCall('show', 'GET', root + UNKNOWN_PARAMETER, None, QUERY),
        BadCall(
            'proposal',
            'GET',
            f'{root}/proposal{UNKNOWN_PARAMETER}',
            None,
            QUERY,
        ),
        BadCall('members', 'GET', members + UNKNOWN_PARAMETER, None, QUERY),
        BadCall(
            'member',
            'GET',
            f'{members}/{last}{UNKNOWN_PARAMETER}',
            None,
            QUERY,
        ),
        BadCall('delete', 'DELETE', f'{root}?generation=0', None, SEEN),
        update('$.vrt_group.generation', topology=group['topology']),
        update(
            '$.vrt_group.topology.colour',
            generation=1,
            topology={'colour': 'red'},
        ),
        BadCall('add', 'POST', members, {'member': {}}, '$.member.path'),
        BadCall(
            'add',
            'POST',
            members,
            {'member': {'path': 'no/a'}},
            '$.member.path',
        ),
        BadCall(
            'remove',
            'DELETE',
            f'{members}/{last}?keep_server=maybe',
            None,
            'query.keep_server',
        ),
        *(
            BadCall(
                name, 'POST', f'{root}/action', {name: body}, f'$.{json_path}'
            )
            for name, body, json_path in _BAD_ACTIONS
        ),
        BadCall('action', 'POST', f'{root}/action', {}, '$'),
        BadCall('action', 'POST', f'{root}/action', {'fly': None}, '$.fly'),
    ]


QUERY = 'query.colour'
SEEN = 'query.generation'
_BAD_ACTIONS = (
    ('adopt', {}, 'adopt.servers'),
    ('adopt', {'servers': {}}, 'adopt.servers'),
    ('boot', {'servers': {'default': {'flavor': 'a'}}}, 'boot.servers'),
    ('extend', {'expires_in': 0}, 'extend.expires_in'),
    ('extend', {'expires_in': 10**9}, 'extend.expires_in'),
    ('hold', {'now': True}, 'hold.now'),
    ('propose', {'now': True}, 'propose.now'),
    ('release', {'members': []}, 'release.members'),
    ('release', {'members': [1]}, 'release.members[0]'),
    ('replan', {'members': []}, 'replan.members'),
)
