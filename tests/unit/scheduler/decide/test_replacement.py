# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/decide/replacement.py``."""

from nova_groupext.objects import redeems
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.scheduler.decide import replacement
from tests.unit.scheduler import base

Outcome = replacement.Outcome


class TestReplacement(base.ProtocolTestCase):
    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held(members=2)

    def to_replace(self, excluded_nodes):
        return replacement.members_to_replace(
            self.context, self.deployment.group(self.uuid), excluded_nodes
        )

    def outcome(self, uuid=None):
        return replacement.outcome(
            self.context, uuid or self.uuid, {'m-0': [self.provider]}
        )

    def test_held_member_is_replaced_on_an_excluded_host_only(self):
        on_it = {'m-0': [self.provider], 'm-1': ['elsewhere'], 'x': []}

        self.assertEqual({'m-0'}, self.to_replace(on_it))
        self.assertEqual(Outcome.NO_OTHER_HOST, self.outcome())

    def test_failed_member_is_replaced_on_any_host(self):
        redeems.end_hold(
            self.context,
            self.deployment.hold(self.uuid, 'm-0'),
            self.deployment.member(self.uuid, 'm-0').status_change(
                states.Member.FAILED
            ),
        )

        self.assertEqual({'m-0'}, self.to_replace({'m-0': []}))

    def test_failed_member_whose_server_has_capacity_is_not_replaced(self):
        self.deployment.redeem(self.uuid, 'm-0')
        member = self.deployment.member(self.uuid, 'm-0')
        transitions.end_member(
            self.context, member, states.Member.FAILED, 'a test'
        )

        self.assertEqual(set(), self.to_replace({'m-0': []}))

    def test_active_and_released_members_are_not_replaced(self):
        self.deployment.redeem(self.uuid, 'm-0')
        self.deployment.request_release(self.uuid, 'm-1')
        everywhere = {'m-0': [self.provider], 'm-1': [self.provider]}

        self.assertEqual(set(), self.to_replace(everywhere))
        self.assertEqual(Outcome.DONE, self.outcome())

    def test_missing_group_is_done(self):
        self.assertEqual(Outcome.DONE, self.outcome(self.provider))

    def test_draft_describes_the_group_as_it_is(self):
        group = self.deployment.group(self.uuid)
        excluded = {'m-0': [self.provider]}

        draft = replacement.start(self.context, group, excluded)

        self.assertEqual('PLANNING', draft.status)
        self.assertEqual(group.id, draft.revises_id)
        self.assertEqual(excluded, draft.excluded_nodes)
        self.assertEqual(
            ['m-0', 'm-1'], [member.path for member in draft.members]
        )

    def test_group_that_is_being_revised_gets_no_draft(self):
        self.deployment.revise(self.uuid, {'m-0': self.provider})
        group = self.deployment.group(self.uuid)

        self.assertIsNone(replacement.start(self.context, group, {}))

    def test_group_that_changed_meanwhile_gets_no_draft(self):
        group = self.deployment.group(self.uuid)
        self.deployment.request_release(self.uuid, 'm-0')

        self.assertIsNone(replacement.start(self.context, group, {}))
