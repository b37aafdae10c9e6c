# SPDX-License-Identifier: Apache-2.0
"""Tests of invalid scheduler hints: POST /servers rejects them."""

from tempest.lib import decorators
from tempest.lib import exceptions as lib_exc

from nova_groupext_tempest_plugin.common import topologies
from nova_groupext_tempest_plugin.tests import servers
from nova_groupext_tempest_plugin.tests.api import calls


class HintsTest(servers.BaseServerTest):
    credentials = ['primary', 'alt']

    @classmethod
    def resource_setup(cls):
        super().resource_setup()
        cls.held = cls.create_group(topologies.equal_members(2))
        cls.hints = {'vrt_group': cls.held['id'], 'vrt_member': 'a-0'}

    def assert_refused(self, error, hints, client=None, **server):
        """Check that hints are refused and the group stays unchanged."""
        refusal = self.assertRaises(
            error,
            self.create_server,
            client,
            scheduler_hints=hints,
            **server,
        )
        self.assertEqual(self.held, self.group(self.held['id']))
        return refusal.resp_body['message']

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('9e2f4a6c-8d1b-4c37-b5a0-1d3e5f7a9b01')
    def test_bad_hint_is_refused_with_its_json_path(self):
        for bad, where in (
            ({'vrt_group': self.held['id']}, ''),
            ({'vrt_member': 'a-0'}, ''),
            ({**self.hints, 'vrt_member': ['a-0', 'a-1']}, 'vrt_member'),
            ({**self.hints, 'vrt_group': self.held['name']}, 'vrt_group'),
            ({**self.hints, 'same_host': [calls.UNKNOWN_ID]}, 'same_host'),
        ):
            message = self.assert_refused(lib_exc.BadRequest, bad)
            path, _colon, reason = message.partition(': ')
            self.assertTrue(path.startswith('$["os:scheduler_hints"]'), path)
            self.assertTrue(path.endswith(where), path)
            self.assertTrue(reason)

    @decorators.idempotent_id('9e2f4a6c-8d1b-4c37-b5a0-1d3e5f7a9b02')
    def test_several_servers_of_one_member_are_refused(self):
        message = self.assert_refused(
            lib_exc.BadRequest, self.hints, min_count=2
        )

        self.assertTrue(message.startswith('$.server.min_count: '), message)

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('9e2f4a6c-8d1b-4c37-b5a0-1d3e5f7a9b03')
    def test_hints_of_another_project_are_not_found(self):
        other = self.os_alt.servers_client
        unknown = {**self.hints, 'vrt_group': calls.UNKNOWN_ID}

        foreign = self.assert_refused(lib_exc.NotFound, self.hints, other)
        nobody = self.assert_refused(lib_exc.NotFound, unknown, other)

        self.assertEqual(
            nobody.replace(calls.UNKNOWN_ID, self.held['id']), foreign
        )

    @decorators.idempotent_id('9e2f4a6c-8d1b-4c37-b5a0-1d3e5f7a9b04')
    def test_more_servers_than_members_are_refused(self):
        hints = {**self.hints, 'vrt_member': 'a'}

        self.assert_refused(lib_exc.Forbidden, hints, min_count=3, max_count=3)
