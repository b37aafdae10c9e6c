# SPDX-License-Identifier: Apache-2.0
"""boot: Nova creates the servers of what is held, as far as it can."""

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
from tests.functional.api import booting

BAD_KEY = {**booting.OFFLINE, 'key_name': 'of nobody'}


class TestBoot(booting.BootCase):
    PARTS = base.WITHOUT_REAPER

    def setUp(self):
        super().setUp()
        self.uuid = self.held(booting.TOPOLOGY)['id']
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
        return self.members(self.ended(self.uuid), before)

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
            self.addCleanup(self.remove, server)
        return made

    def members(self, boot, before):
        """Return {path: {"server_id"} or {"fault"}} of what was missing."""
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
        """Members have become the servers that were told of."""
        planned = self.planned(self.uuid)
        nova = self.cloud.nova('demo')
        for path in paths:
            server = self.built(nova.servers.get(told[path]['server_id']))
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

    def test_every_member_becomes_a_server_where_it_was_planned(self):
        told = self.boot_group(default=booting.OFFLINE)

        self.assertEqual(booting.ALL, [*told])
        self.assertBuilt(told, *booting.ALL)
        self.assertEqual('compute 2.96', self.version)
        self.assertEqual('ACTIVE', self.group(self.uuid)['status'])
        self.assertEqual(self.was_free, sum(self.free().values()))

    def test_a_member_takes_its_own_template_before_that_of_its_stem(self):
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

    def test_one_that_fails_is_told_of_and_the_others_go_on(self):
        told = self.boot_group(
            default=booting.OFFLINE, **{'workers/worker-0': BAD_KEY}
        )

        self.assertEqual(
            {'fault': 'Invalid key_name provided.'}, told['workers/worker-0']
        )
        self.assertBuilt(told, 'db', 'workers/worker-1')
        self.assertEqual('HELD', self.group(self.uuid)['status'])

    def test_what_the_quota_does_not_allow_stays_held(self):
        self.limit(ram=1024)

        told = self.boot_group(default=booting.OFFLINE)

        self.assertIn('Quota exceeded for ram', told['db']['fault'])
        self.assertBuilt(told, *booting.WORKERS)
        self.assertEqual(self.was_free, sum(self.free().values()))

    def test_networks_are_looked_up(self):
        nowhere = {'networks': [{'uuid': image.image_id('cirros')}]}

        told = self.boot_group(default=booting.OFFLINE, db=nowhere)

        self.assertIn('could not be found', told['db']['fault'])
        self.assertBuilt(told, *booting.WORKERS)

    def test_what_is_there_is_not_created_again(self):
        first = self.boot_group(default=booting.OFFLINE, db=BAD_KEY)
        self.assertEqual('Invalid key_name provided.', first['db']['fault'])

        second = self.boot_group(default=booting.OFFLINE)

        self.assertEqual(['db'], [*second])
        self.assertBuilt({**first, **second}, *booting.ALL)
        self.assertEqual({}, self.boot_group(default=booting.OFFLINE))

    def test_of_two_boots_at_once_one_is_told_of_the_other(self):
        before = self.servers()
        body = {'servers': {'default': booting.OFFLINE}}
        with futures.ThreadPoolExecutor(2) as pool:
            codes = pool.map(
                lambda _number: self.act(self.uuid, 'boot', body).status_code,
                range(2),
            )

            self.assertEqual([202, 409], sorted(codes))
        self.assertBuilt(
            self.members(self.ended(self.uuid), before), *booting.ALL
        )

    def test_a_server_that_found_no_place_is_created_again(self):
        services = self.cloud.nova('admin').services
        computes = services.list(binary='nova-compute')
        for each in computes:
            services.disable(each.id)
            self.addCleanup(services.enable, each.id)
        nova = self.cloud.nova('demo')
        first = self.boot_group(
            db=booting.OFFLINE, **{'workers/worker': BAD_KEY}
        )
        server = self.built(nova.servers.get(first['db']['server_id']))
        self.assertIn('does not pass', server.fault['message'])
        for each in computes:
            services.enable(each.id)

        self.assertBuilt(
            self.boot_group(default=booting.OFFLINE), *booting.ALL
        )

    def test_every_microversion_and_endpoint_takes_the_same_templates(self):
        for version, paths in (('v2', ['db']), ('v2.1', booting.WORKERS)):
            templates = dict.fromkeys(paths, booting.OFFLINE)
            root = f'{self.cloud.url}/compute/{version}'
            told = self.boot_group(root=root, default=BAD_KEY, **templates)
            self.assertBuilt(told, *paths)

    def test_a_template_does_not_contradict_the_description(self):
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

    def test_what_no_server_can_be_created_from_is_refused(self):
        for servers, reason in (
            ({'db': []}, '$.boot.servers.db: must be a JSON object'),
            (
                {'default': {'flavorRef': '1'}},
                '$.boot.servers.default.flavorRef: is not known here',
            ),
            (
                {'workers/waiter': booting.OFFLINE},
                '$.boot.servers["workers/waiter"]: is no member of the group',
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

    def test_what_has_expired_is_told_of_each_member(self):
        self.change_row(self.uuid, expires_at=timeutils.utcnow())

        for told in self.boot_group(default=booting.OFFLINE).values():
            self.assertIn('its group expired at', told['fault'])

    def test_what_holds_nothing_is_not_booted(self):
        self.act(self.uuid, 'release')

        self.assertIn(
            'is RELEASED: nothing of it is held', self.refusal(None, code=409)
        )

    def test_what_another_request_boots_is_taken_over_when_it_is_silent(self):
        group = objects.VRTGroup.get(self.context, self.uuid)
        other = objects.VRTBoot.begin(self.context, group, 'another')
        self.assertIn(
            'Another request creates the servers', self.refusal(None, code=409)
        )
        other.go_on(self.context)
        self.patch(boots, 'LONGEST', -1)
        left = self.group(self.uuid)['boot']
        self.assertEqual(boots.STOPPED, left['status'])
        self.assertIn('Nothing was heard', left['fault']['message'])
        self.assertEqual('another', left['request_id'])

        before = self.servers()
        self.act(self.uuid, 'boot', {'servers': {'default': booting.OFFLINE}})
        self.patch(boots, 'LONGEST', 120)

        self.assertBuilt(
            self.members(self.ended(self.uuid), before), *booting.ALL
        )
        self.assertRaises(exception.BootTakenOver, other.go_on, self.context)

    def test_boot_that_was_replaced_or_has_ended_does_not_go_on(self):
        group = objects.VRTGroup.get(self.context, self.uuid)
        first = objects.VRTBoot.begin(self.context, group, 'first')
        with mock.patch.object(boots, 'LONGEST', -1):
            second = objects.VRTBoot.begin(self.context, group, 'second')

        self.assertRaises(exception.BootTakenOver, first.go_on, self.context)
        second.go_on(self.context)
        second.end(self.context, boots.STOPPED, 'why')
        self.assertRaises(exception.BootTakenOver, second.go_on, self.context)

    def test_member_released_meanwhile_is_neither_created_nor_a_fault(self):
        last = {'members': [booting.WORKERS[1]]}
        before = self.servers()
        self.stop_after(0, lambda: self.act(self.uuid, 'release', last))
        servers = {'default': booting.OFFLINE}
        self.act(self.uuid, 'boot', {'servers': servers})

        ended = self.ended(self.uuid)

        self.assertEqual((2, []), (ended['created'], ended['faults']))
        self.assertEqual(['db', booting.WORKERS[0]], [*self.made(before)])

    def stop_after(self, number, with_what):
        """Run ``with_what`` once, when so many servers were created."""
        create = boot.Boot._create
        calls = itertools.count()

        def created(*args):
            if next(calls) == number:
                with_what()
            create(*args)

        self.patch(boot.Boot, '_create', created)

    def test_what_a_process_leaves_another_boot_creates(self):
        before = self.servers()
        self.stop_after(1, background.of_process().break_off)
        self.act(self.uuid, 'boot', {'servers': {'default': booting.OFFLINE}})
        left = self.ended(self.uuid, boots.STOPPED)
        self.assertIn('nova-api was stopped', left['fault']['message'])

        # The step that was under way goes on to its end.
        self.eventually(
            self.servers, lambda now: now[booting.WORKERS[0]] is not None
        )
        first = self.made(before)
        second = self.boot_group(default=booting.OFFLINE)

        self.assertEqual([booting.WORKERS[1]], [*second])
        self.assertBuilt({**first, **second}, *booting.ALL)

    def test_token_that_ends_leaves_the_rest_to_another_boot(self):
        def refuse():
            raise nova_exc.Unauthorized

        before = self.servers()
        self.stop_after(1, refuse)
        self.act(self.uuid, 'boot', {'servers': {'default': booting.OFFLINE}})

        left = self.ended(self.uuid, boots.STOPPED)
        self.assertIn(
            'token of the request is not accepted', left['fault']['message']
        )
        self.assertEqual((3, 1), (left['missing'], left['created']))
        self.assertEqual([], left['faults'])
        [db] = self.made(before)
        self.assertEqual('db', db)
        second = self.boot_group(default=booting.OFFLINE)
        self.assertEqual(booting.WORKERS, [*second])

    def test_token_past_its_end_explains_what_fails(self):
        self.patch(boot, '_token_ends_at', lambda _environ: timeutils.utcnow())
        self.act(self.uuid, 'boot', {'servers': {'default': BAD_KEY}})

        left = self.ended(self.uuid, boots.STOPPED)
        self.assertIn(
            'token of the request is not accepted', left['fault']['message']
        )

    def test_tables_that_do_not_answer_cost_a_pause(self):
        failed = []

        def fail_once(*args):
            if not failed:
                failed.append(True)
                raise db_exc.DBConnectionError
            return get(*args)

        get = boot.VRTGroup.get_brief
        self.patch(boot, 'PAUSE', 0.1)
        self.patch(boot.VRTGroup, 'get_brief', fail_once)

        self.assertBuilt(
            self.boot_group(default=booting.OFFLINE), *booting.ALL
        )
        self.assertEqual([True], failed)

    def test_password_is_the_one_that_was_given(self):
        known = {**booting.OFFLINE, 'adminPass': 'correct horse'}
        with mock.patch.object(
            compute_api.API, 'create', side_effect=ValueError
        ) as create:
            self.act(self.uuid, 'boot', {'servers': {'default': known}})
            self.ended(self.uuid)

        given = [
            call.kwargs['admin_password'] for call in create.call_args_list
        ]
        self.assertEqual(['correct horse'] * 3, given)
