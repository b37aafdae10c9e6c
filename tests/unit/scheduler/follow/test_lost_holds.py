# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/follow/lost_holds.py``."""

from nova_groupext import exception
from nova_groupext.scheduler.follow import lost_holds
from tests.unit.scheduler import base


class TestLostHolds(base.ProtocolTestCase):
    """The only hold of a group, which Placement has lost."""

    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held(slots=1)
        self.hold = self.deployment.hold(self.uuid, 'm-0')
        self.lease = self.acquire_lease(self.uuid)
        self.deployment.delete_allocations(self.hold.uuid)

    def restore(self, error=None):
        """Restore the hold; the check raises an error, if any."""

        def check():
            if error is not None:
                raise error

        return lost_holds.restore(
            *(self.context, self.deployment.placement_client()),
            *(self.lease, self.hold, check),
        )

    def test_free_capacity_is_held_again(self):
        self.assertTrue(self.restore())

        self.assertEqual(2, self.used(self.provider))

    def test_taken_capacity_is_not_held_again(self):
        self.deployment.fill(self.provider)

        self.assertFalse(self.restore())

    def test_refusal_of_the_check_writes_nothing(self):
        for error in (
            exception.LimitExceeded(reason='a test'),
            exception.HoldFailed(reason=lost_holds.BREAKS_POLICY),
        ):
            self.assertFalse(self.restore(error))

        self.assertEqual(['HELD'], self.hold_statuses(self.uuid))
        self.assertEqual(0, self.used(self.provider))

    def test_concurrently_ended_hold_needs_no_further_end(self):
        self.deployment.request_release(self.uuid)

        self.assertTrue(self.restore())

        self.assertEqual(['RELEASING'], self.hold_statuses(self.uuid))

    def test_member_fails_with_its_hold(self):
        member = self.deployment.member(self.uuid, 'm-0')

        lost_holds.end(self.context, [(self.hold, member)], 'a test')

        [member] = self.deployment.group(self.uuid).members
        self.assertEqual(('FAILED', 'a test'), (member.status, member.fault))
        self.assertEqual(['RELEASING'], self.hold_statuses(self.uuid))

    def test_member_without_its_hold_has_no_age(self):
        """Its capacity is free for all: anybody may take it."""
        member = self.deployment.member(self.uuid, 'm-0')

        lost_holds.end(self.context, [(self.hold, member)], 'a test')

        self.assertEqual([None], self.starts(self.uuid))

    def test_violated_policy_is_an_error(self):
        shared = self.deployment.make_provider(2)
        uuid = self.deployment.describe([shared, shared], [base.APART])
        self.deployment.plan(uuid)
        member = self.deployment.member(uuid, 'm-0')

        self.assertRaises(
            *(exception.HoldFailed, lost_holds.check_policies),
            *(self.context, member),
        )

    def test_member_that_violates_no_policy_passes(self):
        member = self.deployment.member(self.uuid, 'm-0')

        lost_holds.check_policies(self.context, member)
