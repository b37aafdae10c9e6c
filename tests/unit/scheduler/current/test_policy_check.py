# SPDX-License-Identifier: Apache-2.0
"""Policy checks of members that are redeemed."""

import dataclasses

from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.objects import states
from nova_groupext.scheduler.current import policy_check
from tests import groups
from tests.unit.objects import base

APART = {'type': 'anti-affinity', 'scope': 'host'}


class TestRefusedMembers(base.HeldGroupTestCase):
    def held_at(self, *hosts, policies=(APART,)):
        """Hold a group with its members on some hosts."""
        group = groups.equal_members(
            len(hosts), policies=[groups.policy('', each) for each in policies]
        )
        group.create(self.context)
        holds = objects.VRTHold.create_all(
            self.context,
            [
                objects.VRTHold.for_member(member, self.placement(host))
                for member, host in zip(group.members, hosts, strict=True)
            ],
        )
        groups.hold_all(self.context, group, holds, None)
        return self.get(group)

    @staticmethod
    def placement(host):
        provider = uuidutils.generate_uuid()
        return dataclasses.replace(
            groups.placement(host, 1), provider=provider
        )

    def refused(self, group):
        refused = policy_check.refused_members(
            self.context,
            group.members,
            objects.VRTGroup.find_state(self.context, group.id),
        )
        return [member.path for member in refused]

    def test_members_that_share_a_host_are_refused(self):
        group = self.held_at('h1', 'h1', 'h2')

        self.assertEqual(['m-0', 'm-1'], self.refused(group))

    def test_group_without_policies_refuses_no_member(self):
        group = self.held_at('h1', 'h1', policies=())

        self.assertEqual([], self.refused(group))

    def test_soft_policy_refuses_no_member(self):
        group = self.held_at(
            'h1', 'h1', policies=({**APART, 'strict': False},)
        )

        self.assertEqual([], self.refused(group))

    def test_deleted_group_is_not_checked(self):
        """The rows of its members decide whether these can be redeemed."""
        group = self.held_at('h1', 'h1')
        self.refused(group)
        group.change(self.context, states.Group.RELEASING)

        self.assertEqual([], self.refused(group))
