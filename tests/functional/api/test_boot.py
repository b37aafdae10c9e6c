# SPDX-License-Identifier: Apache-2.0
"""boot: Nova creates the servers of what is held, as far as it can."""

from concurrent import futures

from oslo_utils import timeutils

from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.cloud import image
from nova_groupext.objects import boots
from tests.functional import base

TOPOLOGY = {
    'members': {'db': base.member('m1.small')},
    'groups': {
        'workers': {
            'members': {
                'worker': base.member(availability_zone='az1', count=2)
            }
        }
    },
}
WORKERS = ['workers/worker-0', 'workers/worker-1']
ALL = ['db', *WORKERS]
OFFLINE = {'networks': 'none'}
BAD_KEY = {**OFFLINE, 'key_name': 'of nobody'}


class TestBoot(base.GroupTestCase):
    PARTS = base.WITHOUT_REAPER
    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),
        hosts.Host('cmp-2', 'r2', 'az1', vcpus=8),
    )

    def setUp(self):
        super().setUp()
        self.uuid = self.held(TOPOLOGY)['id']
        self.was_free = sum(self.free().values())

    def boot_group(self, user='demo', root='', **servers):
        """Boot the group; returns {path: what is told of the member}."""
        response = self.api(user).post(
            f'{root}{base.GROUPS}/{self.uuid}/action',
            json={'boot': {'servers': servers}},
        )
        self.assertEqual(202, response.status_code, response.text)
        self.version = response.headers.get('OpenStack-API-Version')
        told = response.json()['members']
        for member in told:
            if 'server_id' in member:
                made = self.cloud.nova(user).servers.get(member['server_id'])
                self.addCleanup(self.remove, made)
        return {each.pop('path'): each for each in told}

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
        told = self.boot_group(default=OFFLINE)

        self.assertEqual(ALL, [*told])
        self.assertBuilt(told, *ALL)
        self.assertEqual('compute 2.96', self.version)
        self.assertEqual('ACTIVE', self.group(self.uuid)['status'])
        self.assertEqual(self.was_free, sum(self.free().values()))

    def test_a_member_takes_its_own_template_before_that_of_its_stem(self):
        told = self.boot_group(
            default=OFFLINE,
            **{
                'workers/worker': {
                    **OFFLINE,
                    'name': 'shop-{member}',
                    'description': 'works',
                    'metadata': {'role': 'worker'},
                    'tags': ['blue'],
                },
                'workers/worker-1': {**OFFLINE, 'name': 'last'},
            },
        )

        self.assertBuilt(told, *ALL)
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
            default=OFFLINE, **{'workers/worker-0': BAD_KEY}
        )

        self.assertEqual(
            {'fault': 'Invalid key_name provided.'}, told['workers/worker-0']
        )
        self.assertBuilt(told, 'db', 'workers/worker-1')
        self.assertEqual('HELD', self.group(self.uuid)['status'])

    def test_what_the_quota_does_not_allow_stays_held(self):
        self.limit(ram=1024)

        told = self.boot_group(default=OFFLINE)

        self.assertIn('Quota exceeded for ram', told['db']['fault'])
        self.assertBuilt(told, *WORKERS)
        self.assertEqual(self.was_free, sum(self.free().values()))

    def test_networks_are_looked_up(self):
        nowhere = {'networks': [{'uuid': image.image_id('cirros')}]}

        told = self.boot_group(default=OFFLINE, db=nowhere)

        self.assertIn('could not be found', told['db']['fault'])
        self.assertBuilt(told, *WORKERS)

    def test_what_is_there_is_not_created_again(self):
        first = self.boot_group(default=OFFLINE, db=BAD_KEY)
        self.assertEqual('Invalid key_name provided.', first['db']['fault'])

        second = self.boot_group(default=OFFLINE)

        self.assertEqual(['db'], [*second])
        self.assertBuilt({**first, **second}, *ALL)
        self.assertEqual({}, self.boot_group(default=OFFLINE))

    def test_two_boots_at_once_create_every_server_once(self):
        with futures.ThreadPoolExecutor(2) as pool:
            one, other = pool.map(
                lambda _number: self.boot_group(default=OFFLINE), range(2)
            )

        self.assertEqual(set(), one.keys() & other.keys())
        self.assertBuilt({**one, **other}, *ALL)

    def test_a_server_that_found_no_place_is_created_again(self):
        services = self.cloud.nova('admin').services
        computes = services.list(binary='nova-compute')
        for each in computes:
            services.disable(each.id)
            self.addCleanup(services.enable, each.id)
        nova = self.cloud.nova('demo')
        first = self.boot_group(db=OFFLINE, **{'workers/worker': BAD_KEY})
        server = self.built(nova.servers.get(first['db']['server_id']))
        self.assertIn('does not pass', server.fault['message'])
        for each in computes:
            services.enable(each.id)

        self.assertBuilt(self.boot_group(default=OFFLINE), *ALL)

    def test_every_microversion_and_endpoint_takes_the_same_templates(self):
        for version, paths in (('v2', ['db']), ('v2.1', WORKERS)):
            templates = dict.fromkeys(paths, OFFLINE)
            root = f'{self.cloud.url}/compute/{version}'
            told = self.boot_group(root=root, default=BAD_KEY, **templates)
            self.assertBuilt(told, *paths)

    def test_a_template_does_not_contradict_the_description(self):
        other = {**OFFLINE, 'image': image.image_id('cirros-vmx')}
        volume = {
            **OFFLINE,
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
            default={**OFFLINE, 'image': image.image_id('cirros')},
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
                {'workers/waiter': OFFLINE},
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

        for told in self.boot_group(default=OFFLINE).values():
            self.assertIn('its group expired at', told['fault'])

    def test_what_holds_nothing_is_not_booted(self):
        self.act(self.uuid, 'release')

        self.assertIn(
            'is RELEASED: nothing of it is held', self.refusal(None, code=409)
        )

    def test_a_group_that_another_request_boots_is_busy(self):
        group = objects.VRTGroup.get(self.context, self.uuid)
        self.patch(boots, 'PATIENCE', 1)
        with boots.Boot(self.context, group, 'another').alone():
            self.assertIn('is busy', self.refusal(None, code=409))

        self.assertBuilt(self.boot_group(default=OFFLINE), *ALL)
