# SPDX-License-Identifier: Apache-2.0
"""Requests that the methods of the clients send."""

import json
import types

from keystoneauth1 import session
from keystoneauth1 import token_endpoint
from novaclient import client
from openstack import connection
from oslotest import base
import requests

from nova_groupext_client import sdk

ID = '2f7a3ccf-758a-45c4-9544-6e18a1c0b459'
URL = f'/os-vrt-groups/{ID}'
ACTION = ('POST', f'{URL}/action')
TOPOLOGY = {'members': {'a': {'flavor': 'f', 'image': 'i'}}}
GROUP = {'id': ID, 'name': 'shop', 'generation': 7, 'topology': TOPOLOGY}
# The keys of answers that any of the calls reads.
ANSWER = {
    'vrt_group': GROUP,
    'vrt_groups': [],
    'members': [],
    'member': {},
    'proposal': {},
    'capabilities': {},
}


class Wire(requests.adapters.BaseAdapter):
    """An adapter that answers requests and stores (method, path, body)."""

    def __init__(self):
        super().__init__()
        self.sent = []

    def send(self, request, **kwargs):
        body = json.loads(request.body) if request.body else None
        self.sent.append((request.method, request.path_url, body))
        response = requests.Response()
        response.status_code = 200
        response.headers['content-type'] = 'application/json'
        response._content = json.dumps(ANSWER).encode()
        response.request, response.url = request, request.url
        return response

    def close(self):
        """Close nothing, as no connection is open."""


class CallTestCase(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.wire = Wire()
        transport = requests.Session()
        transport.mount('http://', self.wire)
        self.session = session.Session(
            token_endpoint.Token('http://nova', 'token'), session=transport
        )

    def check(self, expected, call, *args, **kwargs):
        """Run a call, and expect its last request."""
        answer = call(*args, **kwargs)
        if isinstance(answer, types.GeneratorType):
            list(answer)
        self.assertEqual(expected, self.wire.sent[-1])


class TestProxy(CallTestCase):
    def setUp(self):
        super().setUp()
        conn = connection.Connection(
            session=self.session, vrt_endpoint_override='http://nova'
        )
        sdk.register(conn)
        self.vrt = conn.vrt

    def test_read_methods_send_get_requests(self):
        vrt = self.vrt
        for path, call, *args in (
            ('/os-vrt-groups/capabilities', vrt.get_capabilities),
            ('/os-vrt-groups/detail', vrt.groups),
            ('/os-vrt-groups', vrt.groups, False),
            (URL, vrt.get_group, ID),
            (URL, vrt.find_group, ID),
            (f'{URL}/proposal', vrt.get_proposal, ID),
            (f'{URL}/members', vrt.members, ID),
            (f'{URL}/members/a/b%20c', vrt.get_member, ID, 'a/b c'),
        ):
            self.check(('GET', path, None), call, *args)
        self.check(
            ('GET', f'{URL}/members?status=HELD', None),
            *(vrt.members, ID),
            status='HELD',
        )
        self.check(
            ('GET', '/os-vrt-groups/detail?name=x&all_projects=True', None),
            *(vrt.groups,),
            **{'name': 'x', 'all_projects': True},
        )

    def test_group_methods_send_their_requests(self):
        attrs = {'name': 'shop', 'topology': TOPOLOGY, 'hold': False}

        self.check(
            ('POST', '/os-vrt-groups', {'vrt_group': attrs}),
            self.vrt.create_group,
            **attrs,
        )
        self.check(
            (
                'PUT',
                URL,
                {'vrt_group': {'generation': 7, 'name': 'store'}},
            ),
            *(self.vrt.update_group, ID),
            name='store',
        )
        self.check(('DELETE', URL, None), self.vrt.delete_group, ID)
        self.check(
            ('DELETE', f'{URL}?generation=7', None),
            *(self.vrt.delete_group, ID),
            generation=7,
        )

    def test_action_methods_send_their_requests(self):
        vrt, some = self.vrt, {'members': ['a']}
        servers = {'a': 'uuid'}
        templates = {'default': {'networks': 'none'}}
        for body, call, *args in (
            ({'hold': None}, vrt.hold_group),
            ({'release': None}, vrt.release_group),
            ({'release': some}, vrt.release_group, ['a']),
            ({'replan': some}, vrt.replan_group, ['a']),
            ({'extend': None}, vrt.extend_group),
            ({'extend': {'expires_in': 60}}, vrt.extend_group, 60),
            ({'adopt': {'servers': servers}}, vrt.adopt_servers, servers),
            ({'boot': None}, vrt.boot_group),
            ({'boot': {'servers': templates}}, vrt.boot_group, templates),
        ):
            self.check((*ACTION, body), call, ID, *args)

    def test_propose_moves_requests_and_reads_a_proposal(self):
        self.check(
            ('GET', f'{URL}/proposal', None), self.vrt.propose_moves, ID
        )
        self.assertEqual((*ACTION, {'propose': None}), self.wire.sent[-2])
        self.vrt.propose_moves(ID, generation=7)
        self.assertEqual(
            (*ACTION, {'propose': {'generation': 7}}), self.wire.sent[-2]
        )

    def test_member_methods_send_their_requests(self):
        self.check(
            (
                'POST',
                f'{URL}/members',
                {'member': {'path': 'a/b', 'count': 2}},
            ),
            *(self.vrt.create_member, ID),
            **{'path': 'a/b', 'count': 2},
        )
        self.check(
            ('DELETE', f'{URL}/members/a/b%23c', None),
            *(self.vrt.delete_member, ID, 'a/b#c'),
        )
        self.check(
            ('DELETE', f'{URL}/members/a?keep_server=True&generation=7', None),
            *(self.vrt.delete_member, ID, 'a'),
            keep_server=True,
            generation=7,
        )


class TestManager(CallTestCase):
    def setUp(self):
        super().setUp()
        self.groups = client.Client(
            '2.1',
            session=self.session,
            extensions=client.discover_extensions(),
        ).vrt_groups

    def test_read_methods_send_get_requests(self):
        groups = self.groups
        for path, call, *args in (
            ('/os-vrt-groups/capabilities', groups.capabilities),
            ('/os-vrt-groups/detail', groups.list),
            ('/os-vrt-groups', groups.list, False),
            (
                '/os-vrt-groups/detail?limit=2&marker=m&name=x',
                *(groups.list, True, {'name': 'x'}, 2, 'm'),
            ),
            (URL, groups.get, ID),
            (f'{URL}/proposal', groups.proposal, ID),
            (f'{URL}/members', groups.members, ID),
            (
                f'{URL}/members?status=HELD&limit=2&marker=a%2Fb',
                *(groups.members, ID, 'HELD', 2, 'a/b'),
            ),
        ):
            self.check(('GET', path, None), call, *args)

    def test_change_methods_send_their_requests(self):
        groups, some = self.groups, {'members': ['a']}
        group = {'name': 'shop', 'topology': TOPOLOGY, 'hold': False}
        revised = {'generation': 7, 'topology': TOPOLOGY}
        member = {'path': 'a/b', 'count': 2}
        for expected, call, *args in (
            ((*ACTION, {'hold': None}), groups.hold, ID),
            ((*ACTION, {'hold': {'generation': 7}}), groups.hold, ID, 7),
            ((*ACTION, {'release': some}), groups.release, ID, ['a']),
            ((*ACTION, {'replan': None}), groups.replan, ID),
            ((*ACTION, {'propose': None}), groups.propose, ID),
            ((*ACTION, {'extend': {'expires_in': 9}}), groups.extend, ID, 9),
            ((*ACTION, {'boot': None}), groups.boot, ID),
            (
                (*ACTION, {'adopt': {'servers': {'a': 's'}}}),
                *(groups.adopt, ID, {'a': 's'}),
            ),
            (
                ('DELETE', f'{URL}/members/a?keep_server=True', None),
                *(groups.remove_member, ID, 'a', True),
            ),
            (
                ('PUT', URL, {'vrt_group': revised}),
                *(groups.update, ID, 7, TOPOLOGY),
            ),
            (('DELETE', URL, None), groups.delete, ID),
            (
                ('DELETE', f'{URL}?generation=7', None),
                *(groups.delete, ID, 7),
            ),
            (
                ('DELETE', f'{URL}/members/a?generation=7', None),
                *(groups.remove_member, ID, 'a', False, 7),
            ),
            (
                ('DELETE', f'{URL}/members/a/b%23c', None),
                *(groups.remove_member, ID, 'a/b#c'),
            ),
        ):
            self.check(expected, call, *args)
        self.check(
            ('POST', '/os-vrt-groups', {'vrt_group': group}),
            groups.create,
            **group,
        )
        self.check(
            ('POST', f'{URL}/members', {'member': member}),
            *(groups.add_member, ID),
            **member,
        )
