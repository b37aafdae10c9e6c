# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/audit/audit.py``."""

from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import redeems
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.audit import audit
from nova_groupext.scheduler.nova import servers
from tests.services import deployment
from tests.unit.scheduler import base

Kind = audit.Kind
ServerOutcome = servers.ServerOutcome


class AuditTestCase(base.ProtocolTestCase):
    def audit(self):
        return audit.audit(self.context, self.deployment.placement_client())

    def found(self):
        """Return [(kind, consumer)] of all findings."""
        return [(each.kind, each.consumer) for each in self.audit()]

    def change(self, model, row_id, **values):
        db.compare_and_set(self.context, model, model.id == row_id, **values)


class TestHolds(AuditTestCase):
    """A group of one member."""

    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held()
        self.hold = self.deployment.hold(self.uuid, 'm-0')

    def test_rows_that_equal_placement_have_no_findings(self):
        self.held_exclusive()
        self.redeemed()

        self.assertEqual([], self.found())

    def test_missing_hold_is_found(self):
        self.deployment.delete_allocations(self.hold.uuid)

        [finding] = self.audit()

        self.assertEqual(
            (Kind.MISSING, self.uuid, 'm-0', self.hold.uuid, self.provider),
            (
                *(finding.kind, finding.group, finding.member),
                *(finding.consumer, finding.provider),
            ),
        )

    def test_changed_hold_is_found(self):
        self.placement.consumers[self.hold.uuid].allocations = {
            self.provider: {'VCPU': 1}
        }

        self.assertEqual([(Kind.MISMATCH, self.hold.uuid)], self.found())

    def test_difference_that_vanishes_is_no_finding(self):
        """A planner has filled the hold between two reads."""
        self.deployment.delete_allocations(self.hold.uuid)

        def fill(_label, about):
            if about == f'/allocations/{self.hold.uuid}':
                self.before_request = None
                self.deployment.placement_client().hold(
                    self.context, [self.hold]
                )

        self.before_request = fill

        self.assertEqual([], self.found())

    def test_hold_that_is_redeemed_meanwhile_is_no_finding(self):
        self.deployment.delete_allocations(self.hold.uuid)

        def reserve(_label, about):
            if about == f'/allocations/{self.hold.uuid}':
                self.before_request = None
                redeems.reserve(
                    self.context,
                    {
                        uuidutils.generate_uuid(): (
                            self.deployment.member(self.uuid, 'm-0'),
                            self.deployment.hold(self.uuid, 'm-0'),
                        )
                    },
                )

        self.before_request = reserve

        self.assertEqual([], self.found())

    def test_leased_group_is_skipped(self):
        self.deployment.delete_allocations(self.hold.uuid)
        self.acquire_lease(self.uuid)

        self.assertEqual([], self.found())

    def test_hold_on_an_overcommitted_provider_is_found(self):
        self.deployment.resize_provider(self.provider, 0)

        self.assertEqual([(Kind.OVERCOMMITTED, self.hold.uuid)], self.found())

    def test_member_without_its_hold_is_found(self):
        self.change(models.Hold, self.hold.id, status=states.Hold.RELEASED)
        self.deployment.delete_allocations(self.hold.uuid)

        self.assertEqual([(Kind.INCONSISTENT, None)], self.found())

    def test_hold_that_matches_no_member_is_found(self):
        member = self.deployment.member(self.uuid, 'm-0')
        self.change(models.Member, member.id, status=states.Member.TENTATIVE)

        self.assertIn((Kind.INCONSISTENT, self.hold.uuid), self.found())

    def test_allocation_without_a_row_is_found(self):
        orphan = self.hold.duplicate()
        self.deployment.placement_client().hold(self.context, [orphan])

        self.assertEqual([(Kind.ORPHAN, orphan.uuid)], self.found())

    def test_allocation_of_a_released_hold_is_found(self):
        row = self.hold.duplicate()
        [row] = VRTHold.create_all(self.context, [row])
        self.change(models.Hold, row.id, status=states.Hold.RELEASED)
        self.deployment.placement_client().hold(self.context, [row])

        self.assertEqual([(Kind.REFILLED, row.uuid)], self.found())

    def test_foreign_consumer_is_no_finding(self):
        self.deployment.fill(self.provider)

        self.assertEqual([], self.found())

    def test_silent_placement_ends_the_audit(self):
        self.silence()

        self.assertRaises(exception.PlacementUnavailable, self.audit)

    def test_silent_provider_is_unknown(self):
        def fail(_label, about):
            if about.startswith('/resource_providers/'):
                raise base.ks_exc.ConnectFailure('a test')

        self.before_request = fail

        self.assertIn((Kind.UNKNOWN, None), self.found())


class TestOverdue(AuditTestCase):
    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held(slots=2)

    def assert_overdue(self, consumer):
        """Expect that work is overdue much later, and not before."""
        self.assertNotIn((Kind.OVERDUE, consumer), self.found())
        self.sleep(3 * deployment.LATER)
        self.assertIn((Kind.OVERDUE, consumer), self.found())

    def test_unfinished_hold_is_overdue(self):
        hold = self.deployment.hold(self.uuid, 'm-0').duplicate()
        hold.create(self.context)

        self.assert_overdue(hold.uuid)

    def test_release_that_does_not_finish_is_overdue(self):
        [hold] = self.holds(self.uuid)
        self.deployment.request_release(self.uuid)

        self.assert_overdue(hold.uuid)

    def test_create_that_does_not_finish_is_overdue(self):
        self.kill_at(
            'after redeem.reserve', self.deployment.redeem, self.uuid, 'm-0'
        )

        self.assert_overdue(None)

    def test_resize_that_does_not_finish_is_overdue(self):
        server = self.deployment.redeem(self.uuid, 'm-0')
        row = self.deployment.reserve_resize(
            self.uuid, self.deployment.make_provider(1)
        )
        redeems.redeem_reservation(self.context, row, server)

        self.assert_overdue(row.uuid)


class TestServers(AuditTestCase):
    """The only member of a group has a server."""

    def found_with(self, outcome, *, is_empty=False):
        self.uuid, _provider, self.server = self.redeemed(outcome)
        if is_empty:
            self.deployment.delete_allocations(self.server)
        if outcome is None:
            del self.deployment.server_outcomes[self.server]
        self.sleep(1000)
        return self.found()

    def test_server_without_an_allocation_is_found(self):
        found = self.found_with(ServerOutcome.DELETED, is_empty=True)

        self.assertEqual(
            [(Kind.SERVER_WITHOUT_ALLOCATION, self.server)], found
        )

    def test_server_that_moved_owns_its_allocation_elsewhere(self):
        self.uuid, _provider, server = self.redeemed()
        self.deployment.delete_allocations(server)
        other = self.deployment.make_provider(1)
        self.deployment.fill(other, consumer=server)

        self.assertEqual([], self.found())

    def test_server_of_a_silent_cell_is_unknown(self):
        found = self.found_with(None, is_empty=True)

        self.assertEqual([(Kind.UNKNOWN, self.server)], found)

    def test_server_that_nova_does_not_know_is_found(self):
        found = self.found_with(ServerOutcome.UNKNOWN_TO_NOVA)

        self.assertEqual([(Kind.UNKNOWN_SERVER, self.server)], found)

    def test_server_that_may_still_be_created_is_no_finding(self):
        self.redeemed(ServerOutcome.UNKNOWN_TO_NOVA)

        self.assertEqual([], self.found())
