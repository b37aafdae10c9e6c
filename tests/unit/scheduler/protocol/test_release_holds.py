# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/protocol/release_holds.py``."""

import fixtures
from oslo_utils import uuidutils

from nova_groupext.objects import states
from nova_groupext.objects import watched_holds
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.protocol import release_holds
from tests.services import deployment
from tests.unit.scheduler import base

ServerOutcome = servers.ServerOutcome
FIRST_CHECK = watched_holds.CHECK_DELAYS[0] + 1


class TestRelease(base.ProtocolTestCase):
    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held(members=2)
        self.posts.clear()

    def release(self, renew=lambda _context: None):
        release_holds.release(
            *(self.context, self.deployment.placement_client()),
            *(self.holds(self.uuid), renew),
        )

    def empty_at_once(self, number):
        self.useFixture(
            fixtures.MockPatchObject(release_holds, 'EMPTIED_AT_ONCE', number)
        )

    def test_hold_is_emptied_before_it_is_released(self):
        self.deployment.request_release(self.uuid, 'm-0')

        self.assertEqual(
            ['release.post', 'release.commit'], self.points(self.release)
        )

        self.assertEqual(['RELEASED', 'HELD'], self.hold_statuses(self.uuid))
        self.assertEqual(2, self.used(self.provider))

    def test_emptied_hold_is_released_by_the_next_round(self):
        self.deployment.request_release(self.uuid, 'm-0')
        self.kill_at('before release.commit', self.release)
        self.assertEqual(['RELEASING', 'HELD'], self.hold_statuses(self.uuid))

        self.release()

        self.assertEqual(['RELEASED', 'HELD'], self.hold_statuses(self.uuid))

    def test_holds_are_emptied_and_released_at_once(self):
        self.deployment.request_release(self.uuid)

        self.assertEqual(
            ['release.post', 'release.commit'], self.points(self.release)
        )

        self.assertEqual(
            ['RELEASED', 'RELEASED'], self.hold_statuses(self.uuid)
        )
        self.assertEqual(0, self.used(self.provider))
        self.assertEqual(1, len(self.posts))

    def test_lease_is_renewed_before_each_request(self):
        self.empty_at_once(1)
        self.deployment.request_release(self.uuid)
        renewals = []

        self.release(renewals.append)

        self.assertEqual([self.context] * 2, renewals)

    def test_holds_of_which_one_is_empty_are_emptied_one_by_one(self):
        first = self.deployment.hold(self.uuid, 'm-0')
        self.deployment.request_release(self.uuid)
        self.deployment.delete_allocations(first.uuid)

        self.release()

        self.assertEqual(
            ['RELEASED', 'RELEASED'], self.hold_statuses(self.uuid)
        )
        self.assertEqual(0, self.used(self.provider))

    def test_error_with_one_request_does_not_stop_the_others(self):
        self.empty_at_once(1)
        self.deployment.request_release(self.uuid)
        self.deployment.lose_next_answer()

        self.release()

        self.assertEqual(
            ['RELEASING', 'RELEASED'], self.hold_statuses(self.uuid)
        )

    def test_refused_release_leaves_the_hold_releasing(self):
        self.deployment.request_release(self.uuid, 'm-0')
        self.refuse_next_change()

        self.release()

        self.assertEqual(['RELEASING', 'HELD'], self.hold_statuses(self.uuid))
        self.assertEqual(4, self.used(self.provider))

    def test_amounts_of_a_lost_hold_are_released(self):
        """Placement has lost the consumer's record, not its usage."""
        hold = self.deployment.hold(self.uuid, 'm-0')
        self.placement.consumers[hold.uuid].generation = None
        watched_holds.mark_lost(self.context, hold)
        self.deployment.request_release(self.uuid, 'm-0')

        self.release()

        self.assertEqual(2, self.used(self.provider))


class TestCheckWatched(base.ProtocolTestCase):
    """Late requests fill consumers that have ended, at any time."""

    def check(self, seconds=FIRST_CHECK):
        self.sleep(seconds)
        release_holds.check_watched(
            self.context, self.deployment.placement_client()
        )

    def released(self):
        """Return (provider, uuid) of a hold that ended and is watched."""
        uuid, provider = self.held(slots=1)
        hold = self.deployment.hold(uuid, 'm-0')
        watched_holds.mark_lost(self.context, hold)
        self.deployment.request_release(uuid, 'm-0')
        self.deployment.release(uuid)
        self.assertEqual(0, self.used(provider))
        return provider, hold.uuid

    def test_late_allocation_of_a_hold_is_removed(self):
        provider, consumer = self.released()
        self.deployment.fill(provider, consumer=consumer)

        self.check(FIRST_CHECK - 2)
        self.assertEqual(2, self.used(provider))
        self.check(2)

        self.assertEqual(0, self.used(provider))

    def test_consumer_that_cannot_be_emptied_does_not_stop_the_others(self):
        both = [self.released() for _each in range(2)]
        for provider, consumer in both:
            self.deployment.fill(provider, consumer=consumer)
        self.refuse_next_change()

        self.check()

        used = [self.used(provider) for provider, _consumer in both]
        self.assertEqual([0, 2], sorted(used))
        self.check(0)
        self.assertEqual([0, 0], [self.used(each) for each, _ in both])

    def test_amounts_of_a_lost_hold_are_released_beside_its_server(self):
        uuid, provider = self.held(slots=2)
        hold = self.deployment.hold(uuid, 'm-0')
        self.deployment.redeem(uuid, 'm-0', uuidutils.generate_uuid())
        watched_holds.mark_lost(self.context, hold)
        self.deployment.fill(provider, consumer=hold.uuid)
        self.placement.consumers[hold.uuid].generation = None

        self.check()

        self.assertEqual(2, self.used(provider))
        self.assertEqual({'m-0': 'ACTIVE'}, self.statuses(uuid))

    def test_each_check_waits_longer(self):
        provider, consumer = self.released()
        passed = 0
        for delay in watched_holds.CHECK_DELAYS:
            self.deployment.fill(provider, consumer=consumer)

            self.check(delay + 1 - passed)

            passed = delay + 1
            self.assertEqual(0, self.used(provider), delay)
        self.deployment.fill(provider, consumer=consumer)
        self.check(passed)
        self.assertEqual(2, self.used(provider))

    def test_live_server_keeps_its_late_allocation(self):
        for outcome, amount in (
            (ServerOutcome.LIVE, 2),
            (ServerOutcome.CREATING, 2),
            (ServerOutcome.UNKNOWN_TO_NOVA, 2),
            (ServerOutcome.UNSCHEDULED, 0),
            (ServerOutcome.DELETED, 0),
        ):
            _uuid, provider, server = self.ended(outcome)

            self.check()

            self.assertEqual(amount, self.used(provider), outcome)
            self.deployment.delete_allocations(server)

    def test_late_allocation_of_a_shelved_server_is_removed(self):
        provider, _server = self.shelved()

        self.check()

        self.assertEqual(0, self.used(provider))

    def test_allocation_of_an_unshelve_that_has_just_begun_stays(self):
        provider, server = self.shelved()

        def unshelve(label, _about):
            if label == 'GET':
                self.deployment.moving_servers.add(server)

        self.before_request = unshelve

        self.check()

        self.assertEqual(2, self.used(provider))

    def test_check_that_dies_beside_another_one_leaves_nothing(self):
        """Placement may have lost the record of the server's consumer."""
        _uuid, provider, server = self.ended(ServerOutcome.DELETED)
        self.deployment.delete_allocations(server)
        [hold] = VRTHold.list_by_status(self.context, states.Hold.RELEASED)
        watched_holds.mark_lost(self.context, hold)
        self.before_request = self._check_beside
        self.assertRaises(deployment.ProcessKilled, self.check)
        self.assertEqual(2, self.used(provider))
        self.before_request = None

        self.check(release_holds.REQUEST_LIFETIME + 1)

        self.assertEqual(0, self.used(provider))

    def _check_beside(self, label, _about):
        """Run the check of another planner before a change, then die."""
        if label == 'POST':
            self.before_request = None
            self.check(0)
            self.before_request = self._die_at_change

    def _die_at_change(self, label, _about):
        if label == 'POST':
            self._die()

    def shelved(self):
        """Return (provider, uuid) of a shelved server that was filled late."""
        _uuid, provider, server = self.ended(ServerOutcome.LIVE)
        self.deployment.shelved_servers.add(server)
        self.deployment.server_hosts.pop(server, None)
        return provider, server

    def ended(self, outcome):
        """End the hold of a server that a late request has filled."""
        uuid, provider, server = self.redeemed(outcome)
        [hold] = VRTHold.list_by_status(self.context, states.Hold.REDEEMED)
        self.deployment.group(uuid).mark_deleted(self.context)
        watched_holds.detach_tombstones(self.context, hold.group_id)
        return uuid, provider, server
