# SPDX-License-Identifier: Apache-2.0
"""Whose place must a server not take, as the others are now?"""

from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.objects import states
from nova_groupext.scheduler.current import policy_check
from tests import groups
from tests.unit.objects import base

APART = {'type': 'anti-affinity', 'scope': 'host'}


class TestRedeemJudge(base.HeldCase):
    def held_at(self, *hosts, policies=(APART,)):
        """Hold a group with its members on some hosts."""
        group = groups.alike(
            len(hosts), policies=[groups.policy('', each) for each in policies]
        )
        group.create(self.context)
        holds = objects.VRTHold.create_all(
            self.context,
            [
                objects.VRTHold.of(member, self.seat(host))
                for member, host in zip(group.members, hosts, strict=True)
            ],
        )
        groups.hold(self.context, group, holds, None)
        return self.get(group)

    @staticmethod
    def seat(host):
        provider = uuidutils.generate_uuid()
        return {**groups.seat(host, 1), 'provider': provider}

    def refused(self, group, judge=None):
        judge = judge or policy_check.RedeemCheck(self.context, group.uuid)
        return [member.path for member in judge.refused(group.members)]

    def test_who_shares_a_host_with_another_is_refused(self):
        group = self.held_at('h1', 'h1', 'h2')

        self.assertEqual(['m-0', 'm-1'], self.refused(group))

    def test_without_policies_nobody_is_refused(self):
        group = self.held_at('h1', 'h1', policies=())

        self.assertEqual([], self.refused(group))

    def test_a_soft_policy_refuses_nobody(self):
        group = self.held_at(
            'h1', 'h1', policies=({**APART, 'strict': False},)
        )

        self.assertEqual([], self.refused(group))

    def test_of_a_group_that_is_deleted_nothing_is_judged(self):
        """Whether its members can be servers still, their rows tell."""
        group = self.held_at('h1', 'h1')
        judge = policy_check.RedeemCheck(self.context, group.uuid)
        self.refused(group, judge)
        group.change(self.context, states.Group.RELEASING)

        self.assertEqual([], self.refused(group, judge))
