# SPDX-License-Identifier: Apache-2.0
"""What is refused before Nova takes a server in, and what is let through."""

import datetime
import json

from nova.api.openstack import wsgi
from oslo_utils import fixture as utils_fixture
from oslo_utils import timeutils
from oslo_utils import uuidutils
import sqlalchemy as sa
import webob

from nova_groupext.api import hints
from nova_groupext.conf import CONF
from nova_groupext.db import engine
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext_client import hints as client_hints
from tests.unit.api import base

OTHER_IMAGE = '8c5f7d6e-2b1a-4a0e-8a53-2f6a1f5f6f11'
VOLUME = [{'boot_index': 0, 'uuid': 'v', 'source_type': 'volume'}]
TO_VOLUME = [
    {
        'boot_index': '0',
        'uuid': base.IMAGE,
        'source_type': 'image',
        'destination_type': 'volume',
    }
]
TO_LOCAL = [{**TO_VOLUME[0], 'destination_type': 'local'}]
DATA_DISK = [{'boot_index': -1, 'uuid': 'v', 'source_type': 'volume'}]


class HintsCase(base.GroupCase):
    def setUp(self):
        super().setUp()
        self.taken_in = []
        self.queries = []
        self.filter = hints.HintsFilter(self.nova)
        sa.event.listen(
            engine.get_engine(), 'before_cursor_execute', self.note
        )

    def note(self, _connection, _cursor, statement, *_others):
        if statement != 'BEGIN':
            self.queries.append(statement)

    def nova(self, environ, start_response):
        """Stand where nova-api's application does."""
        self.taken_in.append(webob.Request(environ).body)
        start_response('202 Accepted', [])
        return [b'']

    def send(self, body, path='/servers', **environ):
        self.queries.clear()
        req = wsgi.Request.blank(path, **{'method': 'POST', **environ})
        req.body = (
            body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        req.environ['nova.context'] = self.context
        response = req.get_response(self.filter)
        if response.status_int != 202:
            [(_kind, fault)] = response.json.items()
            self.assertEqual('application/json', response.content_type)
            self.assertEqual(response.status_int, fault['code'])
            response.fault = fault['message']
        return response

    def held(
        self, status=states.Member.HELD, fault=None, expires_at=None, **asked
    ):
        """Store a group with one member and return its two hints."""
        group = self.described(
            {'members': {'a': base.SMALL}}, base.request(**asked)
        )
        group.expires_at = expires_at
        group.members[0].status = status
        group.members[0].fault = fault
        group.create(self.context)
        return {'vrt_group': group.uuid, 'vrt_member': 'a'}

    def workers(self):
        """Store a group with two free members of a counted one of three."""
        group = self.described()
        for member, status in zip(
            group.members, ('ACTIVE', 'HELD', 'ACTIVE', 'HELD'), strict=True
        ):
            member.status = status
        group.expires_at = None
        group.create(self.context)
        return {'vrt_group': group.uuid}


def server(pointer, more_hints=None, key='os:scheduler_hints', **values):
    return {
        'server': {
            'name': 'a',
            'flavorRef': 'small',
            'imageRef': base.IMAGE,
            **values,
        },
        key: {**pointer, **(more_hints or {})},
    }


class TestRefusals(HintsCase):
    def assertRefused(self, code, reason, body, **kwargs):
        response = self.send(body, **kwargs)
        self.assertEqual(code, response.status_int, response.text)
        self.assertIn(reason, response.fault)
        self.assertEqual([], self.taken_in)

    def test_one_hint_needs_the_other(self):
        pointer = self.held()
        for name in pointer:
            self.assertRefused(
                400,
                '$["os:scheduler_hints"]: needs vrt_group and vrt_member',
                server({name: pointer[name]}),
            )

    def test_hints_are_texts(self):
        pointer = self.held()
        for name in pointer:
            for wrong in (None, 1, '', {}, [], [pointer[name]], 'a\ud800'):
                self.assertRefused(
                    400,
                    f'$["os:scheduler_hints"].{name}: must be a text',
                    server(pointer, {name: wrong}),
                )

    def test_novas_own_hints_are_not_for_members(self):
        pointer = self.held()
        for name in client_hints.PLACING:
            self.assertRefused(
                400,
                f'$["os:scheduler_hints"].{name}: cannot be given',
                server(pointer, {name: 'x'}),
            )

    def test_hints_whose_names_are_escaped_are_hints(self):
        pointer = self.held()
        body = json.dumps(server(pointer, {'different_host': 'x'}))
        for name in ('vrt_group', 'vrt_member'):
            escaped = ''.join(f'\\u{ord(each):04X}' for each in name)
            body = body.replace(name, escaped)

        self.assertRefused(
            400,
            '$["os:scheduler_hints"].different_host: cannot be given',
            body.encode(),
        )

    def test_one_member_is_one_server(self):
        pointer = self.held()
        for count in (2, '2', 0, None, [1]):
            for name in ('min_count', 'max_count'):
                self.assertRefused(
                    400,
                    f'$.server.{name}: must be 1',
                    server(pointer, **{name: count}),
                )

    def test_there_are_no_more_servers_than_free_members(self):
        pointer = self.workers()
        for name, counts in (
            ('workers/worker', {'min_count': 3}),
            ('workers/worker', {'min_count': 1, 'max_count': '3'}),
            ('workers', {'max_count': 3}),
        ):
            self.assertRefused(
                409,
                f'but only 2 of the 3 members under {name} can be created',
                server(pointer, {'vrt_member': name}, **counts),
            )

    def test_of_several_members_none_is_like_the_server(self):
        self.assertRefused(
            409,
            'member workers of the VRT group describes: its flavor is big',
            server(self.workers(), {'vrt_member': 'workers'}, flavorRef='big'),
        )

    def test_several_members_of_another_project_are_not_found(self):
        pointer = self.workers()
        self.context = base.requester(base.STRANGER)

        self.assertRefused(
            404,
            'could not be found',
            server(pointer, {'vrt_member': 'workers'}),
        )

    def test_a_host_cannot_be_forced(self):
        pointer = self.held()
        for name, value in (
            ('availability_zone', 'az1:cmp-1'),
            ('availability_zone', 'az1:cmp-1:node'),
            ('host', 'cmp-1'),
            ('hypervisor_hostname', 'cmp-1'),
        ):
            self.assertRefused(
                400,
                f'$.server.{name}: cannot force a host',
                server(pointer, **{name: value}),
            )

    def test_what_is_not_there_is_not_found(self):
        pointer = self.held()
        for wrong in ('b', 'A'):
            hints = {'vrt_member': wrong}
            self.assertRefused(404, 'has no member', server(pointer, hints))
        unknown = {'vrt_group': '7f3a9d0c-0b0e-4d3f-8d8e-0a8f2b1c9d10'}
        self.assertRefused(
            404, '8f2b1c9d10 could not be found', server(pointer, unknown)
        )

    def test_a_group_is_pointed_at_by_its_id(self):
        self.assertRefused(
            400,
            'vrt_group: must be the id of a VRT group',
            server(self.held(), {'vrt_group': 'its name'}),
        )

    def test_what_is_another_projects_is_not_found(self):
        pointer = self.held()
        self.context = base.requester(base.STRANGER)

        self.assertRefused(404, 'could not be found', server(pointer))

    def test_not_even_by_an_admin_of_another_project(self):
        pointer = self.held()
        self.context = base.requester(base.STRANGER, ['admin'])

        self.assertRefused(404, 'could not be found', server(pointer))

    def test_a_member_is_redeemed_once(self):
        for status in (states.Member.REDEEMING, states.Member.ACTIVE):
            self.assertRefused(
                409, 'it is a server already', server(self.held(status))
            )

    def test_a_member_has_to_be_held(self):
        for status in (
            states.Member.TENTATIVE,
            states.Member.FAILED,
            states.Member.RELEASED,
        ):
            self.assertRefused(
                409, f'is {status}: it is not held', server(self.held(status))
            )

    def test_what_is_known_of_a_member_is_told(self):
        pointer = self.held(states.Member.FAILED, 'its host has burnt down')

        self.assertRefused(
            409, 'a is FAILED: its host has burnt down', server(pointer)
        )

    def test_what_has_expired_is_refused_before_it_is_released(self):
        self.useFixture(
            utils_fixture.TimeFixture(datetime.datetime(2026, 11, 1, 12))
        )
        pointer = self.held(expires_at=timeutils.utcnow())

        self.assertRefused(
            409,
            'a is HELD: its group expired at 2026-11-01T12:00:00Z',
            server(pointer),
        )

    def test_the_server_has_to_be_the_one_described(self):
        pointer = self.held(availability_zone='az1')
        for different, reason in (
            ({'flavorRef': 'big'}, 'its flavor is big instead of small'),
            (
                {'flavorRef': 'http://nova/flavors/big'},
                'its flavor is big instead of small',
            ),
            (
                {'imageRef': OTHER_IMAGE},
                f'its image is {OTHER_IMAGE} instead of {base.IMAGE}',
            ),
            (
                {'availability_zone': 'az2'},
                'its availability zone is az2 instead of az1',
            ),
            (
                {'availability_zone': None},
                'its availability zone is not given instead of az1',
            ),
            (
                {'imageRef': '', 'block_device_mapping_v2': VOLUME},
                'its boot source is a volume instead of an image',
            ),
            (
                {'block_device_mapping_v2': TO_VOLUME},
                'its boot source is a volume instead of an image',
            ),
        ):
            values = {'availability_zone': 'az1', **different}
            self.assertRefused(409, reason, server(pointer, **values))

    def test_a_zone_that_was_not_described_cannot_be_asked_for(self):
        self.assertRefused(
            409,
            'its availability zone is az1 instead of none',
            server(self.held(), availability_zone='az1'),
        )

    def test_a_member_on_a_volume_does_not_boot_from_an_image(self):
        pointer = self.held(is_bfv=True, image_id=None)

        self.assertRefused(
            409,
            'its boot source is an image instead of a volume',
            server(pointer),
        )

    def test_nested_without_end_is_bad_input(self):
        body = b'{"os:scheduler_hints": {"vrt_group": ' + b'[' * 50000

        self.assertRefused(400, '$: is nested too deeply', body)

    def test_all_creates_are_looked_at(self):
        body = server({'vrt_group': 'nothing'})
        for path in (
            '/servers',
            '/servers/',
            '/0a1b2c/servers',
            '/os-volumes_boot',
            '/0a1b2c/os-volumes_boot',
        ):
            self.assertRefused(400, 'together', body, path=path)

    def test_the_second_name_of_hints_counts_as_well(self):
        body = server({'vrt_group': 'x'}, key='OS-SCH-HNT:scheduler_hints')

        self.assertRefused(400, '$["OS-SCH-HNT:scheduler_hints"]', body)

    def test_without_our_tables_the_reason_is_clear(self):
        models.Base.metadata.drop_all(engine.get_engine())

        pointer = {'vrt_group': uuidutils.generate_uuid(), 'vrt_member': 'y'}
        response = self.send(server(pointer))

        self.assertEqual(503, response.status_int)
        self.assertIn('The database of VRT groups', response.fault)


class TestPassing(HintsCase):
    def assertPasses(self, body, queries=0, **kwargs):
        response = self.send(body, **kwargs)
        self.assertEqual(202, response.status_int, response.text)
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.assertEqual(sent, self.taken_in.pop())
        self.assertEqual(queries, len(self.queries), self.queries)

    def test_a_held_member_passes_with_its_body_unread(self):
        self.assertPasses(server(self.held()), queries=1)

    def test_what_means_the_same_passes(self):
        pointer = self.held()
        for same in (
            {'flavorRef': 'http://nova/flavors/small'},
            {'min_count': 1, 'max_count': '1'},
            {'block_device_mapping_v2': TO_LOCAL},
            {'block_device_mapping_v2': DATA_DISK},
        ):
            self.assertPasses(server(pointer, **same), queries=1)

    def test_of_keys_that_are_given_twice_the_last_one_counts(self):
        """Nova's own reader of JSON has it so, and what it reads counts."""
        pointer = self.held()
        key, right = '"os:scheduler_hints": ', json.dumps(pointer)
        wrong = json.dumps({**pointer, 'different_host': 'x'})
        head = json.dumps({'server': server({})['server']})[:-1]

        def sent(*hints):
            body = ', '.join([head, *(key + each for each in hints)])
            return self.send(f'{body}}}'.encode()).status_int

        self.assertEqual(202, sent(wrong, right))
        self.assertEqual(400, sent(right, wrong))

    def test_what_is_no_utf_8_is_left_to_nova(self):
        for body in (
            b'{"vrt_group": "\xff"}',
            b'\xff\xfevrt_group',
            b'vrt_group',
        ):
            self.assertEqual(202, self.send(body).status_int, body)

    def test_as_many_servers_as_there_are_free_members_pass(self):
        for name in ('workers', 'workers/worker'):
            pointer = {**self.workers(), 'vrt_member': name}
            for counts in ({}, {'min_count': 2}, {'max_count': '2'}):
                self.assertPasses(server(pointer, **counts), queries=2)

    def test_counts_that_are_none_are_left_to_novas_schema(self):
        pointer = {**self.workers(), 'vrt_member': 'workers'}
        for count in (None, [2], 'two', 'x' * 5000, 0, 1e400):
            self.assertPasses(server(pointer, min_count=count), queries=2)

    def test_the_default_zone_is_a_zone(self):
        CONF.set_override('default_schedule_zone', 'az1')
        self.addCleanup(CONF.clear_override, 'default_schedule_zone')
        pointer = self.held(availability_zone='az1')

        self.assertPasses(server(pointer), queries=1)

    def test_a_default_zone_without_a_name_is_none(self):
        """It is what Nova takes it for."""
        CONF.set_override('default_schedule_zone', '')
        self.addCleanup(CONF.clear_override, 'default_schedule_zone')

        self.assertPasses(server(self.held()), queries=1)

    def test_a_member_on_a_volume_boots_from_one(self):
        pointer = self.held(is_bfv=True, image_id=None)
        for devices in (VOLUME, TO_VOLUME):
            body = server(
                pointer, imageRef='', block_device_mapping_v2=devices
            )
            self.assertPasses(body, queries=1)

    def test_strangers_cost_no_query(self):
        for body in (
            b'',
            b'nothing',
            {'server': {'name': 'a'}},
            {'server': {'name': 'vrt_group'}},
            {'server': {}, 'os:scheduler_hints': {'group': 'x'}},
            {'server': {}, 'os:scheduler_hints': {'my_vrt_group': 'x'}},
        ):
            self.assertPasses(body)

    def test_what_novas_schema_refuses_is_left_to_it(self):
        for body in (
            b'{"vrt_group": ',
            [{'vrt_group': 1}],
            {'os:scheduler_hints': {'vrt_group': 'x'}},
            {'server': [], 'os:scheduler_hints': {'vrt_group': 'x'}},
            {'server': {}, 'os:scheduler_hints': ['vrt_group']},
        ):
            self.assertPasses(body)

    def test_of_two_hints_nova_reads_the_first(self):
        body = server({'vrt_group': 'x'}, key='OS-SCH-HNT:scheduler_hints')

        self.assertPasses({**body, 'os:scheduler_hints': {}})

    def test_other_requests_are_not_looked_at(self):
        body = server({'vrt_group': 'x'})
        for path in (
            '/servers/1/action',
            '/a/b/servers',
            '/',
            '/flavors',
            '/servers/%80',
        ):
            self.assertPasses(body, path=path)
        self.assertPasses(body, method='PUT')
