# SPDX-License-Identifier: Apache-2.0
"""The hints filter: which requests to create servers it refuses."""

import datetime
import json

import fixtures
from nova import exception as nova_exc
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
from nova_groupext.membership import allowed
from nova_groupext.membership import creates
from nova_groupext.objects import states
from nova_groupext_client import hints as client_hints
from tests.unit.api import base

OTHER_IMAGE = '8c5f7d6e-2b1a-4a0e-8a53-2f6a1f5f6f11'
LIKE_IMAGE = '8c5f7d6e-2b1a-4a0e-8a53-2f6a1f5f6f12'
# Properties of images, by id
IMAGES = {OTHER_IMAGE: {'hw_firmware_type': 'uefi'}, LIKE_IMAGE: {}}
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


class HintsCase(base.GroupTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MockPatch(
                'nova.objects.Flavor.get_by_flavor_id',
                side_effect=nova_exc.FlavorNotFound(flavor_id='any'),
            )
        )
        self.useFixture(
            fixtures.MockPatch(
                'nova.image.glance.API.get', side_effect=self.image
            )
        )
        self.passed = []
        self.queries = []
        self.filter = hints.HintsFilter(self.nova)
        sa.event.listen(
            engine.get_engine(), 'before_cursor_execute', self.record_query
        )

    @staticmethod
    def image(_context, image_id, **_options):
        if image_id not in IMAGES:
            raise nova_exc.ImageNotFound(image_id=image_id)
        return {'id': image_id, 'properties': IMAGES[image_id]}

    def record_query(self, _connection, _cursor, statement, *_others):
        if statement != 'BEGIN':
            self.queries.append(statement)

    def nova(self, environ, start_response):
        """Stand in for nova-api's application."""
        self.passed.append(webob.Request(environ).body)
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
        self,
        status=states.Member.HELD,
        fault=None,
        expires_at=None,
        path='a',
        **asked,
    ):
        """Store a group with one member and return its two hints."""
        group = self.unstored_group(
            {'members': {path: base.SMALL}}, base.request(**asked)
        )
        group.expires_at = expires_at
        group.members[0].status = status
        group.members[0].fault = fault
        group.create(self.context)
        return {'vrt_group': group.uuid, 'vrt_member': path}

    def workers(self):
        """Store a group with two of three workers HELD; return a hint."""
        group = self.unstored_group()
        for member, status in zip(
            group.members, ('ACTIVE', 'HELD', 'ACTIVE', 'HELD'), strict=True
        ):
            member.status = status
        group.expires_at = None
        group.create(self.context)
        return {'vrt_group': group.uuid}


def server(member_hints, more_hints=None, key='os:scheduler_hints', **values):
    return {
        'server': {
            'name': 'a',
            'flavorRef': 'small',
            'imageRef': base.IMAGE,
            **values,
        },
        key: {**member_hints, **(more_hints or {})},
    }


class TestServerGroups(HintsCase):
    """Nova answers with a text of its own, or names the unknown group."""

    told = None

    def ask(self, hints, status=202, headers=None):
        """Send a new server; Nova answers its first request with a status."""
        self.status = status
        return self.send(server(hints, more_hints={}), headers=headers)

    def nova(self, environ, start_response):
        super().nova(environ, start_response)
        start_response(
            f'{self.status} Told', [('Content-Type', 'application/json')]
        )
        told = self.told or f'Not found: {self.passed[-1].decode()}'
        fault = {'badRequest': {'code': self.status, 'message': told}}
        self.status = 202
        return [json.dumps(fault).encode()]

    def test_server_group_of_nova_costs_no_query(self):
        self.ask({'group': uuidutils.generate_uuid()})

        self.assertEqual(1, len(self.passed))
        self.assertEqual([], self.queries)

    def test_list_of_one_server_group_reaches_nova_as_one(self):
        group = uuidutils.generate_uuid()
        self.ask({'group': [group], 'different_host': ['other']})

        [body] = self.passed
        self.assertEqual(
            {'group': group, 'different_host': ['other']},
            json.loads(body)['os:scheduler_hints'],
        )

    def test_unknown_server_group_is_refused_by_nova(self):
        for group in (uuidutils.generate_uuid(), 'name', None, ['a', 'b'], 7):
            self.passed.clear()
            self.ask({'group': group}, 400)
            self.assertEqual(1, len(self.passed))

    def test_other_refusal_of_nova_is_its_answer(self):
        group = {'group': self.held()['vrt_group']}

        response = self.ask(group, 403)

        self.assertEqual(403, response.status_int)
        self.assertEqual([], self.queries)

    def test_other_error_beside_a_server_group_is_novas_answer(self):
        """Nova gives it, whether our tables are there or not."""
        self.told = 'Flavor big could not be found.'
        group = {'group': self.held()['vrt_group']}

        response = self.ask(group, 400)

        self.assertEqual(400, response.status_int)
        self.assertEqual([], self.queries)

    def test_server_group_that_nova_forbids_to_show_is_not_shown(self):
        self.status = 403
        path = f'/os-server-groups/{self.held()["vrt_group"]}'

        response = self.send({}, path=path, method='GET')

        self.assertEqual(403, response.status_int)
        self.assertEqual([], self.queries)

    def test_version_that_nova_does_not_know_is_refused_by_nova(self):
        for version in ('compute 1.x', 'compute 9.9'):
            self.passed.clear()
            self.ask(
                {'group': uuidutils.generate_uuid()},
                *(400, {'OpenStack-API-Version': version}),
            )
            self.assertEqual(1, len(self.passed), version)

    def test_hints_of_a_vrt_group_are_ours(self):
        held = self.held()
        group = held['vrt_group']

        for given in (group, [group]):
            self.passed.clear()
            response = self.ask({'group': given, 'own': 'hint'}, 400)
            self.assertEqual(202, response.status_int, response.text)
            hints = json.loads(self.passed[1])['os:scheduler_hints']
            self.assertEqual(
                {'vrt_group': group, 'vrt_member': '/', 'own': 'hint'}, hints
            )

    def test_vrt_group_that_fits_no_server_is_refused_with_the_reason(self):
        held = self.held()
        self.status = 400
        response = self.send(
            server({'group': held['vrt_group']}, flavorRef='big')
        )

        self.assertEqual(409, response.status_int)
        self.assertIn('its flavor is big', response.fault)
        self.assertEqual(1, len(self.passed))


class TestRefusals(HintsCase):
    def assertRefused(self, code, reason, body, **kwargs):
        response = self.send(body, **kwargs)
        self.assertEqual(code, response.status_int, response.text)
        self.assertIn(reason, response.fault)
        self.assertEqual([], self.passed)

    def test_one_hint_without_the_other_is_refused(self):
        member_hints = self.held()
        for name in member_hints:
            self.assertRefused(
                400,
                '$["os:scheduler_hints"]: requires both vrt_group and '
                'vrt_member',
                server({name: member_hints[name]}),
            )

    def test_hint_that_is_no_string_is_refused(self):
        member_hints = self.held()
        for name in member_hints:
            for wrong in (
                None,
                True,
                1.5,
                '',
                {},
                [],
                [[member_hints[name]]],
                [member_hints[name], member_hints[name]],
                'a\ud800',
            ):
                self.assertRefused(
                    400,
                    f'$["os:scheduler_hints"].{name}: must be a non-empty '
                    'string of printable characters',
                    server(member_hints, {name: wrong}),
                )

    def test_placement_hints_of_nova_are_refused_for_members(self):
        member_hints = self.held()
        for name in client_hints.CONFLICTING:
            self.assertRefused(
                400,
                f'$["os:scheduler_hints"].{name}: cannot be used',
                server(member_hints, {name: 'x'}),
            )

    def test_hints_with_escaped_names_are_recognised(self):
        member_hints = self.held()
        body = json.dumps(server(member_hints, {'different_host': 'x'}))
        for name in ('vrt_group', 'vrt_member'):
            escaped = ''.join(f'\\u{ord(each):04X}' for each in name)
            body = body.replace(name, escaped)

        self.assertRefused(
            400,
            '$["os:scheduler_hints"].different_host: cannot be used',
            body.encode(),
        )

    def test_several_servers_for_one_member_are_refused(self):
        member_hints = self.held()
        for count in (2, '2', 0, None, [1]):
            for name in ('min_count', 'max_count'):
                self.assertRefused(
                    400,
                    f'$.server.{name}: must be 1',
                    server(member_hints, **{name: count}),
                )

    def test_more_servers_than_held_members_are_refused(self):
        member_hints = self.workers()
        for name, counts in (
            ('workers/worker', {'min_count': 3}),
            ('workers/worker', {'min_count': 1, 'max_count': '3'}),
            ('workers', {'max_count': 3}),
        ):
            self.assertRefused(
                409,
                f'but only 2 of the 3 members of {name} can be created now.',
                server(member_hints, {'vrt_member': name}, **counts),
            )

    def test_server_that_differs_from_all_members_is_refused(self):
        self.assertRefused(
            409,
            'member workers of the VRT group: its flavor is big',
            server(self.workers(), {'vrt_member': 'workers'}, flavorRef='big'),
        )

    def test_held_members_that_describe_another_server_do_not_count(self):
        group = self.unstored_group()
        group.expires_at = None
        for member in group.members:
            member.status = states.Member.HELD
        group.member_sets[0].resolved_request = base.request('big')
        group.create(self.context)

        self.assertRefused(
            409,
            'but only 3 of the 4 members of the group can be created now.',
            server({'vrt_group': group.uuid, 'vrt_member': '/'}, min_count=4),
        )

    def test_group_that_holds_nothing_yet_has_its_members_nevertheless(self):
        group = self.unstored_group()
        group.member_sets[1].description = {'count': 0, 'max_count': 2}
        group.members = group.members[:1]
        group.expires_at = None
        group.create(self.context)
        for path in ('workers/worker', 'workers/worker-0', 'workers'):
            self.assertRefused(
                409,
                'is PLANNING: its servers can be created when it is held',
                server({'vrt_group': group.uuid, 'vrt_member': path}),
            )
        self.assertRefused(
            404,
            'has no member other',
            server({'vrt_group': group.uuid, 'vrt_member': 'other'}),
        )

    def test_new_index_of_a_server_that_differs_is_refused_as_differing(self):
        self.assertRefused(
            409,
            'member workers/worker-7 of the VRT group: its flavor is big',
            server(self.new_worker(), flavorRef='big'),
        )

    def test_member_set_with_a_released_member_is_a_conflict(self):
        self.useFixture(
            fixtures.MockPatch(
                'nova_groupext.scheduler.nova.servers.find_ending',
                return_value=(set(), set()),
            )
        )
        member_hints = self.new_worker()

        for path in ('workers/worker', 'workers/worker-7'):
            self.assertRefused(
                409,
                'a member there was released; revise or replan',
                server(member_hints, {'vrt_member': path}),
            )

    def test_number_of_servers_is_bounded_before_members_are_chosen(self):
        CONF.set_override('max_members', 9, 'vrt')
        self.addCleanup(CONF.clear_override, 'max_members', 'vrt')
        numbers = []

        def choose(_group, _path, _matching, names, _find_ending):
            numbers.append(len(names))
            raise creates.Refused(creates.Obstacle.BEYOND_LIMIT)

        self.useFixture(fixtures.MockPatchObject(allowed, 'choose', choose))

        self.assertRefused(
            403,
            'workers/worker',
            server(
                self.new_worker(),
                {'vrt_member': 'workers/worker'},
                max_count=10**9,
            ),
        )
        self.assertEqual([10], numbers)

    def test_several_servers_for_a_new_index_are_refused_before_others(self):
        self.assertRefused(
            400,
            '$.server.min_count: must be 1',
            server(self.new_worker(), min_count=2, flavorRef='big'),
        )

    def new_worker(self):
        """Store a HELD group; return hints of a worker that is not there.

        One of the workers is released, the others have servers.
        """
        group = self.unstored_group()
        group.expires_at = None
        for member in group.members:
            member.status = states.Member.ACTIVE
        group.members[1].status = states.Member.RELEASED
        group.create(self.context)
        group.update_row(self.context, status=states.Group.HELD)
        return {'vrt_group': group.uuid, 'vrt_member': 'workers/worker-7'}

    def test_member_set_of_another_project_is_not_found(self):
        member_hints = self.workers()
        self.context = base.requester(base.FOREIGN)

        self.assertRefused(
            404,
            'could not be found',
            server(member_hints, {'vrt_member': 'workers'}),
        )

    def test_forced_host_is_refused(self):
        member_hints = self.held()
        for name, value in (
            ('availability_zone', 'az1:cmp-1'),
            ('availability_zone', 'az1:cmp-1:node'),
            ('host', 'cmp-1'),
            ('hypervisor_hostname', 'cmp-1'),
        ):
            self.assertRefused(
                400,
                f'$.server.{name}: cannot force a host',
                server(member_hints, **{name: value}),
            )

    def test_unknown_group_or_member_is_not_found(self):
        member_hints = self.held()
        for wrong in ('b', 'A'):
            hints = {'vrt_member': wrong}
            self.assertRefused(
                404, 'has no member', server(member_hints, hints)
            )
        unknown = {'vrt_group': '7f3a9d0c-0b0e-4d3f-8d8e-0a8f2b1c9d10'}
        self.assertRefused(
            404, '8f2b1c9d10 could not be found', server(member_hints, unknown)
        )

    def test_misspelt_member_is_not_found_but_similar_ones(self):
        group = self.unstored_group()
        group.expires_at = None
        group.create(self.context)
        group.update_row(self.context, status=states.Group.HELD)
        hints = {'vrt_group': group.uuid, 'vrt_member': 'workers/wroker-1'}

        self.assertRefused(404, 'Similar ones: workers/worker', server(hints))

    def test_group_name_instead_of_its_id_is_refused(self):
        self.assertRefused(
            400,
            'vrt_group: must be the id (UUID) of a VRT group',
            server(self.held(), {'vrt_group': 'its name'}),
        )

    def test_group_of_another_project_is_not_found(self):
        member_hints = self.held()
        self.context = base.requester(base.FOREIGN)

        self.assertRefused(404, 'could not be found', server(member_hints))

    def test_group_of_another_project_is_not_found_by_an_admin(self):
        member_hints = self.held()
        self.context = base.requester(base.FOREIGN, ['admin'])

        self.assertRefused(404, 'could not be found', server(member_hints))

    def test_second_redeem_of_a_member_is_refused(self):
        for status in (states.Member.REDEEMING, states.Member.ACTIVE):
            self.assertRefused(
                409, 'it already has a server', server(self.held(status))
            )

    def test_member_without_a_hold_is_refused(self):
        for status in (
            states.Member.TENTATIVE,
            states.Member.FAILED,
            states.Member.RELEASED,
        ):
            self.assertRefused(
                409, f'is {status}: it is not held', server(self.held(status))
            )

    def test_refusal_contains_the_fault_of_the_member(self):
        member_hints = self.held(
            states.Member.FAILED, 'its host has burnt down'
        )

        self.assertRefused(
            409, 'a is FAILED: its host has burnt down', server(member_hints)
        )

    def test_member_of_an_expired_group_is_refused(self):
        self.useFixture(
            utils_fixture.TimeFixture(datetime.datetime(2026, 11, 1, 12))
        )
        member_hints = self.held(expires_at=timeutils.utcnow())

        self.assertRefused(
            409,
            'a is HELD: its group expired at 2026-11-01T12:00:00Z',
            server(member_hints),
        )

    def test_server_that_differs_from_its_member_is_refused(self):
        member_hints = self.held(availability_zone='az1')
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
            self.assertRefused(409, reason, server(member_hints, **values))

    def test_unknown_image_is_refused(self):
        unknown = uuidutils.generate_uuid()
        self.assertRefused(
            409,
            f'its image is {unknown} instead of {base.IMAGE}',
            server(self.held(), imageRef=unknown),
        )

    def test_image_that_cannot_be_looked_up_is_no_mismatch(self):
        self.useFixture(
            fixtures.MockPatch(
                'nova.image.glance.API.get',
                side_effect=nova_exc.GlanceConnectionFailed(
                    server='glance', reason='down'
                ),
            )
        )

        self.assertRefused(
            503,
            'The image service is not available',
            server(self.held(), imageRef=OTHER_IMAGE),
        )

    def test_image_that_requires_the_same_of_hosts_passes(self):
        response = self.send(server(self.held(), imageRef=LIKE_IMAGE))

        self.assertEqual(202, response.status_int, response.text)

    def test_zone_that_the_member_does_not_have_is_refused(self):
        self.assertRefused(
            409,
            'its availability zone is az1 instead of none',
            server(self.held(), availability_zone='az1'),
        )

    def test_image_boot_of_a_volume_member_is_refused(self):
        member_hints = self.held(is_bfv=True, image_id=None)

        self.assertRefused(
            409,
            'its boot source is an image instead of a volume',
            server(member_hints),
        )

    def test_too_deeply_nested_body_is_bad_input(self):
        body = b'{"os:scheduler_hints": {"vrt_group": ' + b'[' * 50000

        self.assertRefused(400, '$: is nested too deeply', body)

    def test_every_path_that_creates_servers_is_checked(self):
        body = server({'vrt_group': 'nothing'})
        for path in (
            '/servers',
            '/servers/',
            '/0a1b2c/servers',
            '/os-volumes_boot',
            '/0a1b2c/os-volumes_boot',
        ):
            self.assertRefused(400, 'requires both', body, path=path)

    def test_alias_of_scheduler_hints_is_checked(self):
        body = server({'vrt_group': 'x'}, key='OS-SCH-HNT:scheduler_hints')

        self.assertRefused(400, '$["OS-SCH-HNT:scheduler_hints"]', body)

    def test_missing_tables_are_reported_as_unavailable(self):
        models.Base.metadata.drop_all(engine.get_engine())

        member_hints = {
            'vrt_group': uuidutils.generate_uuid(),
            'vrt_member': 'y',
        }
        response = self.send(server(member_hints))

        self.assertEqual(503, response.status_int)
        self.assertIn('The database of VRT groups', response.fault)


class TestPassing(HintsCase):
    def assertPasses(self, body, queries=0, **kwargs):
        response = self.send(body, **kwargs)
        self.assertEqual(202, response.status_int, response.text)
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.assertEqual(sent, self.passed.pop())
        self.assertEqual(queries, len(self.queries), self.queries)

    def test_request_for_a_held_member_passes_unchanged(self):
        self.assertPasses(server(self.held()), queries=1)

    def test_lists_of_one_hint_pass(self):
        lists = {name: [value] for name, value in self.held().items()}

        self.assertPasses(server(lists), queries=1)

    def test_number_names_a_member(self):
        member_hints = {**self.held(path='7'), 'vrt_member': 7}

        self.assertPasses(server(member_hints), queries=1)

    def test_equivalent_request_passes(self):
        member_hints = self.held()
        for same in (
            {'flavorRef': 'http://nova/flavors/small'},
            {'min_count': 1, 'max_count': '1'},
            {'block_device_mapping_v2': TO_LOCAL},
            {'block_device_mapping_v2': DATA_DISK},
        ):
            self.assertPasses(server(member_hints, **same), queries=1)

    def test_last_of_repeated_hint_keys_counts(self):
        """Nova's JSON parser keeps the last one; the filter has to agree."""
        member_hints = self.held()
        key, right = '"os:scheduler_hints": ', json.dumps(member_hints)
        wrong = json.dumps({**member_hints, 'different_host': 'x'})
        head = json.dumps({'server': server({})['server']})[:-1]

        def sent(*hints):
            body = ', '.join([head, *(key + each for each in hints)])
            return self.send(f'{body}}}'.encode()).status_int

        self.assertEqual(202, sent(wrong, right))
        self.assertEqual(400, sent(right, wrong))

    def test_body_that_is_not_utf_8_is_left_to_nova(self):
        for body in (
            b'{"vrt_group": "\xff"}',
            b'\xff\xfevrt_group',
            b'vrt_group',
        ):
            self.assertEqual(202, self.send(body).status_int, body)

    def test_as_many_servers_as_held_members_pass(self):
        for name in ('workers', 'workers/worker'):
            member_hints = {**self.workers(), 'vrt_member': name}
            for counts in ({}, {'min_count': 2}, {'max_count': '2'}):
                self.assertPasses(server(member_hints, **counts), queries=2)

    def test_invalid_counts_are_left_to_novas_schema(self):
        member_hints = {**self.workers(), 'vrt_member': 'workers'}
        for count in (None, [2], 'two', 'x' * 5000, 0, 1e400):
            self.assertPasses(server(member_hints, min_count=count), queries=2)

    def test_default_zone_counts_as_the_zone_of_the_server(self):
        CONF.set_override('default_schedule_zone', 'az1')
        self.addCleanup(CONF.clear_override, 'default_schedule_zone')
        member_hints = self.held(availability_zone='az1')

        self.assertPasses(server(member_hints), queries=1)

    def test_empty_default_zone_counts_as_no_zone(self):
        """Nova treats it the same way."""
        CONF.set_override('default_schedule_zone', '')
        self.addCleanup(CONF.clear_override, 'default_schedule_zone')

        self.assertPasses(server(self.held()), queries=1)

    def test_volume_boot_of_a_volume_member_passes(self):
        member_hints = self.held(is_bfv=True, image_id=None)
        for devices in (VOLUME, TO_VOLUME):
            body = server(
                member_hints, imageRef='', block_device_mapping_v2=devices
            )
            self.assertPasses(body, queries=1)

    def test_request_without_hints_of_groups_costs_no_query(self):
        for body in (
            b'',
            b'nothing',
            {'server': {'name': 'a'}},
            {'server': {'name': 'vrt_group'}},
            {'server': {}, 'os:scheduler_hints': {'group': 'x'}},
            {'server': {}, 'os:scheduler_hints': {'my_vrt_group': 'x'}},
        ):
            self.assertPasses(body)

    def test_body_that_novas_schema_refuses_is_left_to_nova(self):
        for body in (
            b'{"vrt_group": ',
            [{'vrt_group': 1}],
            {'os:scheduler_hints': {'vrt_group': 'x'}},
            {'server': [], 'os:scheduler_hints': {'vrt_group': 'x'}},
            {'server': {}, 'os:scheduler_hints': ['vrt_group']},
        ):
            self.assertPasses(body)

    def test_scheduler_hints_take_precedence_over_their_alias(self):
        body = server({'vrt_group': 'x'}, key='OS-SCH-HNT:scheduler_hints')

        self.assertPasses({**body, 'os:scheduler_hints': {}})

    def test_other_requests_pass_unchecked(self):
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
