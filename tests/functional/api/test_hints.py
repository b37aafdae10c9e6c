# SPDX-License-Identifier: Apache-2.0
"""POST /servers with hints, which the hints filter checks before Nova."""

from nova_groupext.cloud import accounts
from nova_groupext.cloud import image
from tests.functional import base

VMX = image.image_id('cirros-vmx')
TOPOLOGY = {
    'members': {
        'a': base.member(availability_zone='az1', count=2),
        'volume': {'flavor': 'm1.tiny', 'boot_from_volume': True},
    }
}
VOLUME = [
    {
        'boot_index': 0,
        'source_type': 'image',
        'destination_type': 'volume',
        'uuid': image.image_id('cirros'),
        'volume_size': 1,
    }
]


class TestHints(base.GroupTestCase):
    def setUp(self):
        super().setUp()
        flavors = self.cloud.nova('demo').flavors.list()
        self.flavors = {flavor.name: flavor.id for flavor in flavors}
        self.group_id = self.hold_group(TOPOLOGY)['id']

    def create_with(self, hints, user='demo', root='', **server):
        """POST a server, which the test deletes at its end."""
        body = {
            'server': {
                'name': 'member',
                'flavorRef': self.flavors['m1.tiny'],
                'imageRef': image.image_id('cirros'),
                'availability_zone': 'az1',
                'networks': 'none',
                **server,
            },
            'os:scheduler_hints': hints,
        }
        response = self.api(user).post(f'{root}/servers', json=body)
        if response.status_code == 202:
            nova = self.cloud.nova(user)
            made = nova.servers.get(response.json()['server']['id'])
            self.addCleanup(self.delete_servers, made)
        return response

    def assertRefused(self, code, kind, reason, hints=None, **server):
        """Expect a refusal that changes no server and no hold."""
        before = self.server_ids('admin'), self.free()
        response = self.create_with(
            {**base.member_hints(self.group_id, 'a-0'), **(hints or {})},
            **server,
        )
        self.assertEqual(code, response.status_code, response.text)
        self.assertEqual(
            ('application/json', [kind]),
            (
                response.headers['Content-Type'].partition(';')[0],
                list(response.json()),
            ),
        )
        self.assertIn(reason, response.json()[kind]['message'])
        self.assertIn('2.96', response.headers['OpenStack-API-Version'])
        self.assertEqual(before, (self.server_ids('admin'), self.free()))

    def test_invalid_hints_and_mismatched_servers_are_refused(self):
        bad = 400, 'badRequest'
        unknown = 404, 'itemNotFound'
        other = 409, 'conflictingRequest'
        too_many = 403, 'forbidden'
        for (code, kind), reason, hints, server in (
            (
                bad,
                'vrt_member: must be a non-empty string of printable '
                'characters',
                {'vrt_member': {}},
                {},
            ),
            (bad, 'group: cannot be used', {'group': self.group_id}, {}),
            (bad, 'must be 1', {}, {'min_count': 2}),
            (bad, 'must be 1', {}, {'max_count': 2}),
            (bad, 'force a host', {}, {'availability_zone': 'az1:cmp-1'}),
            (bad, 'force a host', {}, {'host': 'cmp-1'}),
            (bad, 'must be the id', {'vrt_group': 'nothing'}, {}),
            (unknown, 'has no member', {'vrt_member': 'b'}, {}),
            (
                too_many,
                '3 servers requested, but only 2 of the 2 members of a can be',
                {'vrt_member': 'a'},
                {'min_count': 3},
            ),
            (
                other,
                f'its flavor is m1.small ({self.flavors["m1.small"]}) instead '
                f'of m1.tiny ({self.flavors["m1.tiny"]})',
                {},
                {'flavorRef': self.flavors['m1.small']},
            ),
            (other, 'its flavor is 9 instead', {}, {'flavorRef': '9'}),
            (other, 'its image is', {}, {'imageRef': VMX}),
            (other, 'zone is az2', {}, {'availability_zone': 'az2'}),
            (
                other,
                'is a volume instead of an image',
                {},
                {'imageRef': '', 'block_device_mapping_v2': VOLUME},
            ),
            (
                other,
                'is an image instead of a volume',
                {'vrt_member': 'volume'},
                {},
            ),
        ):
            self.assertRefused(code, kind, reason, hints, **server)

    def test_one_hint_without_the_other_is_refused(self):
        for name, value in base.member_hints(self.group_id, 'a-0').items():
            response = self.create_with({name: value})
            self.assertEqual(400, response.status_code, response.text)
            self.assertIn('requires both', response.text)

    def test_members_of_another_project_are_not_found(self):
        member_hints = base.member_hints(self.group_id, 'a-0')
        for user in ('other', 'admin'):
            response = self.create_with(member_hints, user)
            self.assertEqual(404, response.status_code, response.text)

    def test_second_server_of_a_member_is_a_conflict(self):
        member_hints = base.member_hints(self.group_id, 'a-0')
        made = self.create_with(member_hints)
        self.assertEqual(202, made.status_code, made.text)
        self.wait_for_build(
            self.cloud.nova('demo').servers.get(made.json()['server']['id'])
        )

        self.assertRefused(
            409, 'conflictingRequest', 'Member a-0 is ACTIVE', member_hints
        )

    def test_server_of_a_released_member_is_a_conflict(self):
        self.act(self.group_id, 'release', {'members': ['a-1']})
        self.eventually(
            lambda: len(self.holds_of(self.group_id)), lambda holds: holds == 2
        )

        self.assertRefused(
            409,
            'conflictingRequest',
            'Member a-1 is RELEASED: it is not held',
            {'vrt_member': 'a-1'},
        )

    def test_members_of_a_deleted_group_are_not_found(self):
        self.delete_group(self.group_id)

        self.assertRefused(404, 'itemNotFound', 'could not be found')

    def test_hints_are_checked_on_every_endpoint(self):
        project = accounts.by_name('demo').project_id
        hints = {'vrt_group': self.group_id}
        for version in ('v2', 'v2.1'):
            for prefix in ('', f'/{project}'):
                root = f'{self.cloud.url}/compute/{version}{prefix}'
                response = self.create_with(hints, root=root)
                self.assertEqual(400, response.status_code, response.text)
                self.assertIn('requires both', response.text)
