# SPDX-License-Identifier: Apache-2.0
"""One call that describes a group, holds it and creates its servers."""

import json

from nova_groupext.objects import boot as boots
from tests.functional import base
from tests.later import booting


class TestBootWithGroup(booting.BootTestCase):
    """``POST`` of a group with the key ``boot``."""

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
            self.addCleanup(
                self.delete_servers, nova.servers.get(member['server_id'])
            )
        return group

    def test_group_with_boot_is_held_and_its_servers_are_created(self):
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

        boot = self.wait_for_boot(uuid, boots.STOPPED)

        self.assertEqual(
            (409, 'The group is REFUSED: it has no held members.'),
            (boot['fault']['code'], boot['fault']['message']),
        )

    def test_retry_with_a_client_token_does_not_boot_twice(self):
        first, second = (
            self.post_booted(client_token='boot-once')['vrt_group']
            for _number in range(2)
        )

        self.assertEqual(first['id'], second['id'])
        active = self.active(first['id'])
        self.assertEqual(3, active['boot']['created'])
        self.assertEqual(3, len(self.cloud.nova('demo').servers.list()))

    def test_retry_with_other_templates_is_a_conflict(self):
        first = self.post_booted(client_token='boot-others')['vrt_group']
        named = {'default': {**booting.OFFLINE, 'name': 'other'}}

        self.post_booted(
            409, client_token='boot-others', boot={'servers': named}
        )
        self.post_booted(409, client_token='boot-others', boot=None)

        self.active(first['id'])

    def test_group_with_boot_null_has_no_servers(self):
        for hold in (True, False):
            group = self.post_booted(boot=None, hold=hold)['vrt_group']

            self.assertIsNone(group['boot'])

    def test_group_with_an_invalid_boot_is_refused(self):
        nested = json.loads('[' * 500 + ']' * 500)
        for group, told in (
            (
                {'boot': {'servers': {'db': {'metadata': {'k': nested}}}}},
                '$.vrt_group.boot.servers.db: is nested too deeply',
            ),
            ({'hold': False}, '$.vrt_group.boot: requires held members'),
            (
                {'boot': {'servers': {'web': booting.OFFLINE}}},
                '$.vrt_group.boot.servers.web: is not a member of the group',
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
