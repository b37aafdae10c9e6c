# SPDX-License-Identifier: Apache-2.0
"""The action boot, which creates the servers of held members."""

from concurrent import futures
import itertools
from unittest import mock

from nova import exception as nova_exc
from nova.compute import api as compute_api
from oslo_db import exception as db_exc
from oslo_utils import timeutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.api import background
from nova_groupext.api import boot
from nova_groupext.cloud import image
from nova_groupext.objects import boot as boots
from tests.functional import base
from tests.later import booting

BAD_KEY = {**booting.OFFLINE, 'key_name': 'of nobody'}


class TestBoot(booting.BootTestCase):
    PARTS = base.WITHOUT_REAPER

    def setUp(self):
        super().setUp()
        self.uuid = self.hold_group(booting.TOPOLOGY)['id']
        self.was_free = sum(self.free().values())

    def boot_group(self, root='', **servers):
        """Boot the group, and wait; returns what members() does."""
        before = self.servers()
        response = self.api().post(
            f'{root}{base.GROUPS}/{self.uuid}/action',
            json={'boot': {'servers': servers}},
        )
        self.assertEqual(202, response.status_code, response.text)
        self.version = response.headers.get('OpenStack-API-Version')
        return self.members(self.wait_for_boot(self.uuid), before)

    def servers(self):
        return {
            member['path']: member['server_id']
            for member in self.group(self.uuid)['members']
        }

    def made(self, before):
        """Return {path: {"server_id"}} of servers that are new."""
        made = {
            path: {'server_id': server}
            for path, server in self.servers().items()
            if server not in (None, before[path])
        }
        for each in made.values():
            server = self.cloud.nova('demo').servers.get(each['server_id'])
            self.addCleanup(self.delete_servers, server)
        return made

    def members(self, boot, before):
        """Return {path: {"server_id"} or {"fault"}} of missing servers."""
        made = self.made(before)
        failed = {
            each['path']: {'fault': each['fault']['message']}
            for each in boot['faults']
        }
        self.assertEqual(len(made) + len(failed), boot['missing'], boot)
        self.assertEqual(len(made), boot['created'])
        return {
            path: (made | failed)[path]
            for path in before
            if path in made | failed
        }

    def assertBuilt(self, told, *paths):
        """Expect that members have become the servers of an answer."""
        planned = self.planned_hosts(self.uuid)
        nova = self.cloud.nova('demo')
        for path in paths:
            server = self.wait_for_build(
                nova.servers.get(told[path]['server_id'])
            )
            self.assertEqual('ACTIVE', server.status, vars(server))
            self.assertEqual(planned[path], self.host_of(server))
        self.assertEqual(
            {path: told[path]['server_id'] for path in paths},
            {
                member['path']: member['server_id']
                for member in self.group(self.uuid)['members']
                if member['status'] == 'ACTIVE' and member['path'] in paths
            },
        )

    def refusal(self, body, code=400):
        response = self.act(self.uuid, 'boot', body)
        self.assertEqual(code, response.status_code, response.text)
        [fault] = response.json().values()
        return fault['message']

    def test_every_member_becomes_a_server_on_its_planned_host(self):
        told = self.boot_group(default=booting.OFFLINE)

        self.assertEqual(booting.ALL, [*told])
        self.assertBuilt(told, *booting.ALL)
        self.assertEqual('compute 2.96', self.version)
        self.assertEqual('ACTIVE', self.group(self.uuid)['status'])
        self.assertEqual(self.was_free, sum(self.free().values()))

    def test_member_that_waits_for_another_server_is_not_missing(self):
        path = booting.ALL[0]
        member = objects.VRTMember.get_by_path(
            self.context,
            self.uuid,
            path,
            project_id=self.cloud.sdk('demo').current_project_id,
        )
        member.update_row(self.context, reserved_for=self.uuid)

        told = self.boot_group(default=booting.OFFLINE)

        self.assertEqual({*booting.ALL} - {path}, told.keys())

    def test_template_of_a_member_precedes_that_of_its_member_set(self):
        told = self.boot_group(
            default=booting.OFFLINE,
            **{
                'workers/worker': {
                    **booting.OFFLINE,
                    'name': 'shop-{member}',
                    'description': 'works',
                    'metadata': {'role': 'worker'},
                    'tags': ['blue'],
                },
                'workers/worker-1': {**booting.OFFLINE, 'name': 'last'},
            },
        )

        self.assertBuilt(told, *booting.ALL)
        shown = {
            path: self.api().get(f'/servers/{each["server_id"]}').json()
            for path, each in told.items()
        }
        first = shown['workers/worker-0']['server']
        self.assertEqual(
            {
                'db': 'db',
                'workers/worker-0': 'shop-workers-worker-0',
                'workers/worker-1': 'last',
            },
            {path: each['server']['name'] for path, each in shown.items()},
        )
        self.assertEqual(
            ('works', {'role': 'worker'}, ['blue']),
            (first['description'], first['metadata'], first['tags']),
        )
        self.assertEqual({}, shown['db']['server']['metadata'])

    def test_fault_of_one_member_does_not_stop_the_other_servers(self):
        told = self.boot_group(
            default=booting.OFFLINE, **{'workers/worker-0': BAD_KEY}
        )

        self.assertEqual(
            {'fault': 'Invalid key_name provided.'}, told['workers/worker-0']
        )
        self.assertBuilt(told, 'db', 'workers/worker-1')
        self.assertEqual('HELD', self.group(self.uuid)['status'])

    def test_member_beyond_the_quota_stays_held(self):
        self.set_quota(ram=1024)

        told = self.boot_group(default=booting.OFFLINE)

        self.assertIn('Quota exceeded for ram', told['db']['fault'])
        self.assertBuilt(told, *booting.WORKERS)
        self.assertEqual(self.was_free, sum(self.free().values()))

    def test_unknown_network_is_a_fault_of_its_member(self):
        nowhere = {'networks': [{'uuid': image.image_id('cirros')}]}

        told = self.boot_group(default=booting.OFFLINE, db=nowhere)

        self.assertIn('could not be found', told['db']['fault'])
        self.assertBuilt(told, *booting.WORKERS)

    def test_second_boot_creates_only_missing_servers(self):
        first = self.boot_group(default=booting.OFFLINE, db=BAD_KEY)
        self.assertEqual('Invalid key_name provided.', first['db']['fault'])

        second = self.boot_group(default=booting.OFFLINE)

        self.assertEqual(['db'], [*second])
        self.assertBuilt({**first, **second}, *booting.ALL)
        self.assertEqual({}, self.boot_group(default=booting.OFFLINE))

    def test_concurrent_boots_of_one_group_conflict(self):
        before = self.servers()
        body = {'servers': {'default': booting.OFFLINE}}
        with futures.ThreadPoolExecutor(2) as pool:
            codes = pool.map(
                lambda _number: self.act(self.uuid, 'boot', body).status_code,
                range(2),
            )

            self.assertEqual([202, 409], sorted(codes))
        self.assertBuilt(
            self.members(self.wait_for_boot(self.uuid), before), *booting.ALL
        )

    def test_server_without_a_valid_host_is_replaced_by_the_next_boot(self):
        services = self.cloud.nova('admin').services
        computes = services.list(binary='nova-compute')
        for each in computes:
            services.disable(each.id)
            self.addCleanup(services.enable, each.id)
        nova = self.cloud.nova('demo')
        first = self.boot_group(
            db=booting.OFFLINE, **{'workers/worker': BAD_KEY}
        )
        server = self.wait_for_build(
            nova.servers.get(first['db']['server_id'])
        )
        self.assertIn("Nova's filters refuse", server.fault['message'])
        for each in computes:
            services.enable(each.id)

        self.assertBuilt(
            self.boot_group(default=booting.OFFLINE), *booting.ALL
        )

    def test_every_endpoint_accepts_the_same_templates(self):
        for version, paths in (('v2', ['db']), ('v2.1', booting.WORKERS)):
            templates = dict.fromkeys(paths, booting.OFFLINE)
            root = f'{self.cloud.url}/compute/{version}'
            told = self.boot_group(root=root, default=BAD_KEY, **templates)
            self.assertBuilt(told, *paths)

    def test_template_that_contradicts_the_description_is_a_fault(self):
        other = {**booting.OFFLINE, 'image': image.image_id('cirros-vmx')}
        volume = {
            **booting.OFFLINE,
            'block_device_mapping_v2': [
                {
                    'boot_index': 0,
                    'source_type': 'image',
                    'destination_type': 'volume',
                    'uuid': image.image_id('cirros'),
                    'volume_size': 1,
                }
            ],
        }
        told = self.boot_group(
            default={**booting.OFFLINE, 'image': image.image_id('cirros')},
            db=other,
            **{'workers/worker-1': volume},
        )

        self.assertIn('its image is', told['db']['fault'])
        self.assertIn(
            'is a volume instead of an image',
            told['workers/worker-1']['fault'],
        )
        self.assertBuilt(told, 'workers/worker-0')

    def test_invalid_template_is_refused(self):
        for servers, reason in (
            ({'db': []}, '$.boot.servers.db: must be a JSON object'),
            (
                {'default': {'flavorRef': '1'}},
                '$.boot.servers.default.flavorRef: is unknown',
            ),
            (
                {'workers/waiter': booting.OFFLINE},
                '$.boot.servers["workers/waiter"]: is not a member of the '
                'group',
            ),
            (
                {'default': {'networks': 'all'}},
                '$.boot.servers.default: Invalid input for field/attribute '
                'networks',
            ),
            (
                {'db': {'user_data': 'x'}},
                '$.boot.servers.db: Invalid input for field/attribute '
                'user_data',
            ),
        ):
            told = self.refusal({'servers': servers})
            self.assertEqual(reason, told[: len(reason)])
        self.assertEqual('HELD', self.group(self.uuid)['status'])

    def test_boot_of_an_expired_group_is_a_fault_of_each_member(self):
        self.change_row(self.uuid, expires_at=timeutils.utcnow())

        for told in self.boot_group(default=booting.OFFLINE).values():
            self.assertIn('its group expired at', told['fault'])

    def test_boot_of_a_group_without_holds_is_a_conflict(self):
        self.act(self.uuid, 'release')

        self.assertIn(
            'is RELEASED: it has no held members', self.refusal(None, code=409)
        )

    def test_boot_of_a_group_whose_other_members_lost_holds_is_refused(self):
        [booted, *others] = booting.ALL
        self.act(self.uuid, 'release', {'members': others})
        self.boot_group(default=booting.OFFLINE)

        told = self.refusal(None, code=409)

        self.assertIn('it has no held members; replan it', told)
        self.assertBuilt({booted: self.group(self.uuid)['members'][0]}, booted)

    def test_boot_of_a_group_with_all_servers_is_done(self):
        self.boot_group(default=booting.OFFLINE)

        self.assertEqual({}, self.boot_group(default=booting.OFFLINE))

    def test_boot_of_a_silent_request_is_taken_over(self):
        group = objects.VRTGroup.get(self.context, self.uuid)
        other = objects.VRTBoot.start(self.context, group, 'another')
        self.assertIn(
            'Another request is creating the servers',
            self.refusal(None, code=409),
        )
        other.store_progress(self.context)
        self.patch(boots, 'HEARTBEAT_TIMEOUT', -1)
        left = self.group(self.uuid)['boot']
        self.assertEqual(boots.STOPPED, left['status'])
        self.assertIn('no longer responds', left['fault']['message'])
        self.assertEqual('another', left['request_id'])

        before = self.servers()
        self.act(self.uuid, 'boot', {'servers': {'default': booting.OFFLINE}})
        self.patch(boots, 'HEARTBEAT_TIMEOUT', 120)

        self.assertBuilt(
            self.members(self.wait_for_boot(self.uuid), before), *booting.ALL
        )
        self.assertRaises(
            exception.BootTakenOver, other.store_progress, self.context
        )

    def test_replaced_or_ended_boot_does_not_continue(self):
        group = objects.VRTGroup.get(self.context, self.uuid)
        first = objects.VRTBoot.start(self.context, group, 'first')
        with mock.patch.object(boots, 'HEARTBEAT_TIMEOUT', -1):
            second = objects.VRTBoot.start(self.context, group, 'second')

        self.assertRaises(
            exception.BootTakenOver, first.store_progress, self.context
        )
        second.store_progress(self.context)
        second.finish(self.context, boots.STOPPED, 'why')
        self.assertRaises(
            exception.BootTakenOver, second.store_progress, self.context
        )

    def test_member_released_during_boot_is_skipped(self):
        last = {'members': [booting.WORKERS[1]]}
        before = self.servers()
        self.stop_after(0, lambda: self.act(self.uuid, 'release', last))
        servers = {'default': booting.OFFLINE}
        self.act(self.uuid, 'boot', {'servers': servers})

        ended = self.wait_for_boot(self.uuid)

        self.assertEqual((2, []), (ended['created'], ended['faults']))
        self.assertEqual(['db', booting.WORKERS[0]], [*self.made(before)])

    def stop_after(self, number, with_what):
        """Run ``with_what`` once, after ``number`` servers were created."""
        create = boot.Boot._create
        calls = itertools.count()

        def created(*args):
            if next(calls) == number:
                with_what()
            create(*args)

        self.patch(boot.Boot, '_create', created)

    def test_next_boot_creates_the_servers_that_a_stopped_api_left(self):
        before = self.servers()
        self.stop_after(1, background.get_background().abort)
        self.act(self.uuid, 'boot', {'servers': {'default': booting.OFFLINE}})
        left = self.wait_for_boot(self.uuid, boots.STOPPED)
        self.assertIn('nova-api was stopped', left['fault']['message'])

        # The step that was under way goes on to its end.
        self.eventually(
            self.servers, lambda now: now[booting.WORKERS[0]] is not None
        )
        first = self.made(before)
        second = self.boot_group(default=booting.OFFLINE)

        self.assertEqual([booting.WORKERS[1]], [*second])
        self.assertBuilt({**first, **second}, *booting.ALL)

    def test_expired_token_stops_the_boot_and_the_next_one_continues(self):
        def refuse():
            raise nova_exc.Unauthorized

        before = self.servers()
        self.stop_after(1, refuse)
        self.act(self.uuid, 'boot', {'servers': {'default': booting.OFFLINE}})

        left = self.wait_for_boot(self.uuid, boots.STOPPED)
        self.assertIn(
            'token of the request is no longer valid', left['fault']['message']
        )
        self.assertEqual((3, 1), (left['missing'], left['created']))
        self.assertEqual([], left['faults'])
        [db] = self.made(before)
        self.assertEqual('db', db)
        second = self.boot_group(default=booting.OFFLINE)
        self.assertEqual(booting.WORKERS, [*second])

    def test_failure_after_the_token_expired_is_explained_by_the_token(self):
        self.patch(boot, '_token_ends_at', lambda _environ: timeutils.utcnow())
        self.act(self.uuid, 'boot', {'servers': {'default': BAD_KEY}})

        left = self.wait_for_boot(self.uuid, boots.STOPPED)
        self.assertIn(
            'token of the request is no longer valid', left['fault']['message']
        )

    def test_boot_retries_after_a_database_failure(self):
        failed = []

        def fail_once(*args):
            if not failed:
                failed.append(True)
                raise db_exc.DBConnectionError
            return get(*args)

        get = boot.VRTGroup.get_row
        self.patch(boot, 'POLL_INTERVAL', 0.1)
        self.patch(boot.VRTGroup, 'get_row', fail_once)

        self.assertBuilt(
            self.boot_group(default=booting.OFFLINE), *booting.ALL
        )
        self.assertEqual([True], failed)

    def test_servers_get_the_password_of_the_template(self):
        known = {**booting.OFFLINE, 'adminPass': 'correct horse'}
        with mock.patch.object(
            compute_api.API, 'create', side_effect=ValueError
        ) as create:
            self.act(self.uuid, 'boot', {'servers': {'default': known}})
            self.wait_for_boot(self.uuid)

        given = [
            call.kwargs['admin_password'] for call in create.call_args_list
        ]
        self.assertEqual(['correct horse'] * 3, given)
