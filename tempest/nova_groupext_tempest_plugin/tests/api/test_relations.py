# SPDX-License-Identifier: Apache-2.0
"""Tests of relationships between several parts or with other groups."""

from tempest.lib import decorators
from tempest.lib import exceptions as lib_exc
from tempest.lib.common.utils import data_utils

from nova_groupext_tempest_plugin.common import topologies
from nova_groupext_tempest_plugin.tests import base


class RelationsTest(base.BaseGroupTest):
    credentials = ['primary', 'alt']

    def host(self, group, path):
        """Return the domain id of the host that a member is planned on."""
        [member] = [m for m in group['members'] if m['path'] == path]
        return member['domains']['host']

    @decorators.idempotent_id('2e8b5d1f-7c3a-4961-b0e4-9d6f3a7c1501')
    def test_members_of_many_parts_are_on_one_host(self):
        together = {
            'between': ['a', 'b', 'c'],
            'policies': [topologies.HOST_AFFINITY],
        }
        group = self.describe(
            {
                'members': dict.fromkeys('abc', topologies.member()),
                'relationships': [together],
            },
            hold=False,
        )

        self.assertEqual('PLANNED', group['status'])
        self.assertEqual(1, len({self.host(group, path) for path in 'abc'}))

    @decorators.idempotent_id('2e8b5d1f-7c3a-4961-b0e4-9d6f3a7c1502')
    def test_policy_on_a_member_is_satisfied(self):
        group = self.describe(
            {
                'members': {
                    'a': topologies.member(
                        count=2, policies=[topologies.HOST_AFFINITY]
                    )
                }
            },
            hold=False,
        )

        self.assertEqual('PLANNED', group['status'])
        self.assertEqual(self.host(group, 'a-0'), self.host(group, 'a-1'))

    def topology_beside(self, group_id):
        """Return a topology with a soft affinity to another group."""
        topology_beside = {**topologies.HOST_AFFINITY, 'strict': False}
        parts = ['b', {'group': group_id}]
        return {
            'members': {'b': topologies.member()},
            'relationships': [
                {'between': parts, 'policies': [topology_beside]}
            ],
        }

    @decorators.idempotent_id('2e8b5d1f-7c3a-4961-b0e4-9d6f3a7c1503')
    def test_member_is_planned_beside_another_group(self):
        other = self.hold(topologies.equal_members(1))

        group = self.describe(self.topology_beside(other['id']), hold=False)

        self.assertEqual('PLANNED', group['status'])
        is_beside = self.host(group, 'b') == self.host(other, 'a-0')
        # The host may lack capacity for both.
        self.assertEqual(is_beside, not group['violations'])

    @decorators.idempotent_id('2e8b5d1f-7c3a-4961-b0e4-9d6f3a7c1504')
    def test_group_of_another_project_is_unknown(self):
        other = self.describe(
            topologies.equal_members(1), self.other_groups, hold=False
        )
        messages = []
        for unknown in (other['id'], data_utils.rand_uuid()):
            refusal = self.assertRaises(
                lib_exc.BadRequest,
                self.groups.create_group,
                name=data_utils.rand_name(type(self).__name__),
                topology=self.topology_beside(unknown),
            )
            messages.append(str(refusal).replace(unknown, ''))

        self.assertEqual(*messages)
