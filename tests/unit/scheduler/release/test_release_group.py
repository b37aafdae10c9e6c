# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/release/release_group.py``."""

import fixtures

from nova_groupext import member_ref
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.nova import stored_hints
from nova_groupext.scheduler.protocol import release_holds
from nova_groupext.scheduler.release import release_group
from tests.unit.scheduler import base

ServerOutcome = servers.ServerOutcome


class ReleaseTestCase(base.ProtocolTestCase):
    def release(self, uuid):
        group = self.deployment.group(uuid)
        lease = self.acquire_lease(uuid)
        release_group.release(
            *(self.context, self.deployment.placement_client(), lease, group)
        )
        lease.release(self.context)

    def tombstones(self):
        """Return the RELEASED holds that no group has any more."""
        holds = VRTHold.list_by_status(self.context, states.Hold.RELEASED)
        return [hold for hold in holds if hold.group_id is None]

    def assert_purged(self, uuid):
        self.assertIsNone(self.deployment.find_group(uuid))
        self.assertEqual({}, self.deployment.row_counts())


class TestRelease(ReleaseTestCase):
    """A group of two members on one host."""

    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held(members=2)

    def test_released_member_is_emptied_and_the_group_stays(self):
        self.deployment.request_release(self.uuid, 'm-0')

        writes = self.points(self.release, self.uuid)

        self.assertEqual(['release.post', 'release.commit'], writes)
        self.assertEqual(
            {'m-0': 'RELEASED', 'm-1': 'HELD'}, self.statuses(self.uuid)
        )
        self.assertEqual(2, self.used(self.provider))

    def test_deleted_group_leaves_tombstones_only(self):
        self.deployment.mark_deleted(self.uuid)

        self.release(self.uuid)

        self.assert_purged(self.uuid)
        self.assertEqual(2, len(self.tombstones()))
        self.assertEqual(0, self.used(self.provider))

    def test_crash_is_finished_by_the_next_owner(self):
        self.deployment.mark_deleted(self.uuid)
        for point in ('before release.post', 'after release.post'):
            self.kill_at(point, self.release, self.uuid)
            self.sleep(1000)

        self.release(self.uuid)

        self.assert_purged(self.uuid)
        self.assertEqual(0, self.used(self.provider))

    def test_group_stays_while_a_hold_cannot_be_emptied(self):
        self.deployment.mark_deleted(self.uuid)
        self.deployment.lose_next_answer()

        self.release(self.uuid)
        self.assertIsNotNone(self.deployment.find_group(self.uuid))
        self.release(self.uuid)

        self.assert_purged(self.uuid)

    def test_group_stays_while_a_member_is_being_redeemed(self):
        self.kill_at(
            'after redeem.reserve',
            *(self.deployment.redeem, self.uuid, 'm-0'),
        )
        self.deployment.mark_deleted(self.uuid)

        self.release(self.uuid)

        self.assertEqual(
            {'m-0': 'REDEEMING', 'm-1': 'RELEASED'}, self.statuses(self.uuid)
        )
        self.assertEqual(2, self.used(self.provider))


class TestServers(ReleaseTestCase):
    """A deleted group whose only member has a server."""

    def delete_with(self, outcome):
        uuid, self.provider, self.server = self.redeemed(outcome)
        self.deployment.mark_deleted(uuid)
        self.release(uuid)
        return uuid

    def test_server_outlives_its_group(self):
        uuid = self.delete_with(ServerOutcome.LIVE)

        self.assert_purged(uuid)
        self.assertEqual([self.server], [*self.deployment.allocations()])
        [hold] = self.tombstones()
        self.assertIsNotNone(hold.watched_at)

    def test_server_that_will_not_be_built_loses_its_capacity(self):
        uuid = self.delete_with(ServerOutcome.UNSCHEDULED)

        self.assert_purged(uuid)
        self.assertEqual(0, self.used(self.provider))

    def test_group_stays_while_its_server_is_unknown(self):
        uuid = self.delete_with(ServerOutcome.UNKNOWN_TO_NOVA)

        self.assertEqual('RELEASING', self.deployment.group(uuid).status)
        self.assertEqual(2, self.used(self.provider))


class TestDrafts(ReleaseTestCase):
    """A group whose draft, which adopts a server, was deleted."""

    def setUp(self):
        super().setUp()
        self.uuid, provider = self.held(slots=2)
        self.server = self.deployment.fill(provider)
        self.draft = self.deployment.revise(
            self.uuid, {'m-9': provider}, adopts=[('m-9', self.server)]
        )
        self.stored, self.ref = [], None
        self.useFixture(
            fixtures.MockPatchObject(stored_hints, '_set_hints', self.store)
        )
        self.deployment.group(self.draft).mark_deleted(self.context)

    def store(self, _context, server, _get_member_ref):
        self.stored.append(server)
        return self.ref

    def test_deleted_draft_is_removed_and_its_group_stays(self):
        self.release(self.uuid)

        self.assertIsNone(self.deployment.find_group(self.draft))
        self.assertEqual({'m-0': 'HELD'}, self.statuses(self.uuid))
        self.assertEqual([self.server], self.stored)

    def test_draft_stays_while_hints_may_be_stored_again(self):
        """The server is a member: a request may have read older hints."""
        self.ref = member_ref.MemberRef(self.uuid, 'm-9')

        self.release(self.uuid)
        self.assertIsNotNone(self.deployment.find_group(self.draft))
        self.sleep(release_holds.REQUEST_LIFETIME + 1)
        self.release(self.uuid)

        self.assertIsNone(self.deployment.find_group(self.draft))
        self.assertEqual(2 * [self.server], self.stored)
