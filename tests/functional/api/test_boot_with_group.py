# SPDX-License-Identifier: Apache-2.0
"""boot: one call describes a group, has it held and creates its servers."""

from nova_groupext.objects import boot as boots
from tests.functional import base
from tests.functional.api import booting


class TestBootWithGroup(booting.BootCase):
    """``POST`` of a group that carries its boot."""

    def post_booted(self, code=202, **group):
        servers = {'servers': {'default': booting.OFFLINE}}
        response = self.post(
            **{'topology': booting.TOPOLOGY, 'boot': servers, **group}
        )
        self.assertEqual(code, response.status_code, response.text)
        return response.json()

    def active(self, uuid):
        """Wait until all members are servers; returns the group."""
        group = self.eventually(
            self.group, lambda now: now['status'] == 'ACTIVE', uuid
        )
        for member in group['members']:
            nova = self.cloud.nova('demo')
            self.addCleanup(self.remove, nova.servers.get(member['server_id']))
        return group

    def test_one_call_describes_holds_and_creates(self):
        described = self.post_booted()['vrt_group']

        self.assertEqual('PLANNING', described['status'])
        self.assertEqual(boots.BOOTING, described['boot']['status'])
        active = self.active(described['id'])
        self.assertEqual(
            (boots.DONE, 3, 3, []),
            tuple(
                active['boot'][name]
                for name in ('status', 'missing', 'created', 'faults')
            ),
        )
        events = [each['event'] for each in active['events']]
        self.assertEqual({'create', 'boot', 'held'}, {*events})

    def test_refused_group_has_no_servers(self):
        much = {'members': {'db': base.member('m1.large', count=9)}}
        uuid = self.post_booted(topology=much)['vrt_group']['id']

        boot = self.ended(uuid, boots.STOPPED)

        self.assertEqual(
            (409, 'The group is REFUSED: nothing of it is held.'),
            (boot['fault']['code'], boot['fault']['message']),
        )

    def test_same_request_again_is_the_same_boot(self):
        first, second = (
            self.post_booted(client_token='once')['vrt_group']
            for _number in range(2)
        )

        self.assertEqual(first['id'], second['id'])
        active = self.active(first['id'])
        self.assertEqual(3, active['boot']['created'])
        self.assertEqual(3, len(self.cloud.nova('demo').servers.list()))

    def test_what_cannot_be_booted_is_not_described(self):
        for group, told in (
            ({'hold': False}, '$.vrt_group.boot: needs members that are held'),
            (
                {'boot': {'servers': {'web': booting.OFFLINE}}},
                '$.vrt_group.boot.servers.web: is no member of the group',
            ),
            (
                {'boot': {'servers': {'db': {'networks': 'all'}}}},
                '$.vrt_group.boot.servers.db: Invalid input',
            ),
        ):
            [fault] = self.post_booted(400, **group).values()
            self.assertIn(told, fault['message'])
        groups = self.api().get(base.GROUPS).json()['vrt_groups']
        self.assertEqual([], groups)
