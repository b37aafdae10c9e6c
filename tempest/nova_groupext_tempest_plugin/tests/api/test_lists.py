# SPDX-License-Identifier: Apache-2.0
"""Tests of lists of groups: their fields, filters and order."""

from tempest.lib import decorators
from tempest.lib.common.utils import data_utils

from nova_groupext_tempest_plugin.common import topologies
from nova_groupext_tempest_plugin.tests import base


class ListsTest(base.BaseGroupTest):
    def ids(self, detail=False, **query):
        listed = self.groups.list_groups(detail, **query)
        return [group['id'] for group in listed['vrt_groups']]

    @decorators.idempotent_id('6a1d2c3b-0d5e-4b0c-8f3a-71c2f0b9a103')
    def test_list_is_filtered_by_name_and_status(self):
        group = self.describe(topologies.equal_members(), hold=False)
        for detail in (False, True):
            for query, is_found in (
                ({'name': group['name']}, True),
                ({'name': group['name'][:-1]}, False),
                ({'status': 'PLANNED'}, True),
                ({'status': 'HELD'}, False),
                ({'name': group['name'], 'status': 'PLANNED'}, True),
                ({'all_projects': False}, True),
            ):
                found = group['id'] in self.ids(detail, **query)
                self.assertEqual(is_found, found, query)

    @decorators.idempotent_id('6a1d2c3b-0d5e-4b0c-8f3a-71c2f0b9a104')
    def test_detailed_list_shows_the_same_as_the_group(self):
        group = self.describe(topologies.nested(), hold=False)

        listed = self.groups.list_groups(detail=True, name=group['name'])

        self.assertEqual([group], listed['vrt_groups'])

    @decorators.idempotent_id('6a1d2c3b-0d5e-4b0c-8f3a-71c2f0b9a108')
    def test_list_is_filtered_by_members_tokens_and_time(self):
        token = data_utils.rand_uuid()
        group = self.describe(
            topologies.equal_members(1), hold=False, client_token=token
        )
        for query, is_found in (
            ({'member_status': 'TENTATIVE'}, True),
            ({'member_status': 'FAILED'}, False),
            ({'client_token': token}, True),
            ({'client_token': data_utils.rand_uuid()}, False),
            ({'server_id': data_utils.rand_uuid()}, False),
            ({'changes-since': group['created_at']}, True),
            ({'changes-since': '2999-01-01T00:00:00Z'}, False),
        ):
            for detail in (False, True):
                found = group['id'] in self.ids(detail, **query)
                self.assertEqual(is_found, found, query)

    @decorators.idempotent_id('6a1d2c3b-0d5e-4b0c-8f3a-71c2f0b9a109')
    def test_list_is_sorted(self):
        prefix = data_utils.rand_name(type(self).__name__)
        second, first = (
            self.describe(
                topologies.equal_members(1),
                hold=False,
                name=f'{prefix}-{last}',
            )['id']
            for last in 'ba'
        )

        for directed, expected in (
            ('asc', [first, second]),
            ('desc', [second, first]),
        ):
            listed = self.ids(sort_key='name', sort_dir=directed)
            ours = [each for each in listed if each in (first, second)]
            self.assertEqual(expected, ours)
