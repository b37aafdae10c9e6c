# SPDX-License-Identifier: Apache-2.0
"""Tests of invalid requests: 400, and the JSON path of the error."""

from tempest.lib import decorators
from tempest.lib import exceptions as lib_exc

from nova_groupext_tempest_plugin.common import topologies
from nova_groupext_tempest_plugin.tests import base
from nova_groupext_tempest_plugin.tests.api import calls


class BadRequestsTest(base.BaseGroupTest):
    @classmethod
    def resource_setup(cls):
        super().resource_setup()
        cls.planned = cls.create_group(topologies.equal_members(), hold=False)

    def assert_bad_request(self, bad):
        """Send an invalid request, and check the JSON path of the 400."""
        refusal = self.assertRaises(
            lib_exc.BadRequest,
            self.groups.call,
            bad.method,
            bad.path,
            bad.body,
        )
        message = refusal.resp_body['message']
        self.assertTrue(
            message.startswith((f'{bad.json_path}: ', f'{bad.json_path}.')),
            f'{bad}: {message}',
        )

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('3f0a6f3e-6d0b-4b52-9d38-2f8f1b9c8e01')
    def test_bad_request_to_a_project_names_the_json_path(self):
        for bad in calls.bad_calls_of_project(topologies.equal_members()):
            self.assert_bad_request(bad)

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('3f0a6f3e-6d0b-4b52-9d38-2f8f1b9c8e02')
    def test_bad_request_to_a_group_changes_nothing(self):
        for bad in calls.bad_calls_of_group(self.planned):
            self.assert_bad_request(bad)

        self.assertEqual(self.planned, self.group(self.planned['id']))
