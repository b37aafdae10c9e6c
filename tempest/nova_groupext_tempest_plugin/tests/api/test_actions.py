# SPDX-License-Identifier: Apache-2.0
"""Tests of hold, release, extend, replan, and proposals.

The scenarios test ``boot`` and ``adopt``.
"""

import datetime

from tempest.lib import decorators
from tempest.lib import exceptions as lib_exc

from nova_groupext_tempest_plugin.common import topologies
from nova_groupext_tempest_plugin.common import waiters
from nova_groupext_tempest_plugin.tests import base

HOUR = 3600


class ActionsTest(base.BaseGroupTest):
    def assert_conflict(self, group, action, **body):
        """Check that an action conflicts with the state of a group."""
        before = self.group(group['id'])
        refusal = self.assertRaises(
            lib_exc.Conflict, self.groups.act, group['id'], action, **body
        )
        self.assertEqual(before, self.group(group['id']))
        return str(refusal)

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('d5e9a3c7-1f42-4c58-b6d0-2a7b8c9d5401')
    def test_release_of_a_member_keeps_the_other_holds(self):
        group = self.hold(topologies.equal_members(3))

        self.groups.act(group['id'], 'release', members=['a-1'])

        released = self.group(group['id'])
        self.assertEqual(
            {'a-0': 'HELD', 'a-1': 'RELEASED', 'a-2': 'HELD'},
            waiters.member_statuses(released),
        )
        self.assertEqual('HELD', released['status'])
        self.assertEqual({}, released['members'][1]['domains'])

    @decorators.idempotent_id('d5e9a3c7-1f42-4c58-b6d0-2a7b8c9d5402')
    def test_release_of_all_members_releases_the_group(self):
        group = self.hold(topologies.equal_members(2))

        self.groups.act(group['id'], 'release')

        released = self.group(group['id'])
        self.assertEqual('RELEASED', released['status'])
        self.assertEqual(
            {'RELEASED'}, set(waiters.member_statuses(released).values())
        )

    @decorators.idempotent_id('d5e9a3c7-1f42-4c58-b6d0-2a7b8c9d5403')
    def test_action_on_an_unknown_member_is_not_found(self):
        group = self.hold(topologies.equal_members(1))
        for action in ('release', 'replan'):
            self.assertRaises(
                lib_exc.NotFound,
                self.groups.act,
                group['id'],
                action,
                members=['nobody'],
            )

        self.assertEqual(group, self.group(group['id']))

    @decorators.idempotent_id('d5e9a3c7-1f42-4c58-b6d0-2a7b8c9d5404')
    def test_extension_counts_from_now(self):
        group = self.hold(topologies.equal_members(1), expires_in=HOUR // 2)

        self.groups.act(group['id'], 'extend', expires_in=2 * HOUR)

        extended = self.group(group['id'])
        longer = _expiry_seconds(extended) - _expiry_seconds(group)
        self.assertGreaterEqual(longer, 1.5 * HOUR)
        self.assertLess(longer, 2 * HOUR)
        self.assertEqual(extended['generation'], group['generation'])

    @decorators.idempotent_id('d5e9a3c7-1f42-4c58-b6d0-2a7b8c9d5405')
    def test_replan_holds_released_members(self):
        group = self.hold(topologies.equal_members(2))
        self.groups.act(group['id'], 'release', members=['a-1'])

        self.groups.act(group['id'], 'replan')

        waiters.wait_for_members(
            self.groups, group['id'], {'a-0': 'HELD', 'a-1': 'HELD'}
        )

    @decorators.idempotent_id('d5e9a3c7-1f42-4c58-b6d0-2a7b8c9d5406')
    def test_actions_on_a_group_without_holds_are_conflicts(self):
        group = self.describe(topologies.equal_members(1), hold=False)

        for action in ('release', 'extend', 'boot'):
            self.assertIn('PLANNED', self.assert_conflict(group, action))

    @decorators.idempotent_id('d5e9a3c7-1f42-4c58-b6d0-2a7b8c9d5407')
    def test_hold_of_a_held_group_is_a_conflict(self):
        group = self.hold(topologies.equal_members(1))

        self.assertIn('HELD', self.assert_conflict(group, 'hold'))

    @decorators.idempotent_id('d5e9a3c7-1f42-4c58-b6d0-2a7b8c9d5408')
    def test_proposal_for_an_unbroken_group_moves_nothing(self):
        group = self.hold(
            topologies.equal_members(2, [topologies.HOST_ANTI_AFFINITY])
        )

        self.assertRaises(
            lib_exc.NotFound, self.groups.show_proposal, group['id']
        )
        self.groups.act(group['id'], 'propose')

        proposal = self.groups.show_proposal(group['id'])['proposal']

        self.assertEqual(
            ('placed', True, []),
            (proposal['status'], proposal['fewest'], proposal['moves']),
        )

    @decorators.idempotent_id('d5e9a3c7-1f42-4c58-b6d0-2a7b8c9d5409')
    def test_events_name_requests_users_and_outcomes(self):
        group = self.hold(topologies.equal_members(1))

        asked = self.groups.act(group['id'], 'extend')

        extended, *earlier = self.group(group['id'])['events']
        self.assertEqual('extend', extended['event'])
        self.assertEqual(
            asked.response['x-compute-request-id'], extended['request_id']
        )
        self.assertEqual(group['user_id'], extended['user_id'])
        self.assertEqual(
            ['held', 'create'], [each['event'] for each in earlier]
        )


def _expiry_seconds(group):
    """Return the expiry time of a group, in seconds since the epoch."""
    expires_at = datetime.datetime.fromisoformat(group['expires_at'])
    return expires_at.timestamp()
