# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/audit/heal.py``."""

from keystoneauth1 import exceptions as ks_exc

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.audit import audit
from nova_groupext.scheduler.audit import heal
from nova_groupext.scheduler.nova import servers
from tests.services import deployment
from tests.unit.scheduler import base

Kind = audit.Kind


class TestHeal(base.ProtocolTestCase):
    """A group of one member."""

    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held()
        self.hold = self.deployment.hold(self.uuid, 'm-0')

    def found(self):
        return audit.audit(self.context, self.deployment.placement_client())

    def heal(self, *kinds, orphans=False):
        """Heal findings of these kinds; expect that nothing is found then.

        :param orphans: whether orphans are released, too
        """
        findings = self.found()
        self.assertEqual({*kinds}, {each.kind for each in findings})
        heal.heal(
            *(self.context, self.deployment.placement_client()),
            *(findings, orphans),
        )
        self.assertEqual([], self.found())

    def change(self, model, row_id, **values):
        db.compare_and_set(self.context, model, model.id == row_id, **values)

    def test_every_kind_has_a_remedy(self):
        self.assertEqual({*Kind}, {*heal.REMEDIES})

    def test_missing_hold_is_held_again(self):
        self.deployment.delete_allocations(self.hold.uuid)

        self.heal(Kind.MISSING)

        self.assertEqual({'m-0': 'HELD'}, self.statuses(self.uuid))
        self.assertEqual(2, self.used(self.provider))

    def test_group_that_cannot_be_healed_is_left_to_planners_at_once(self):
        self.deployment.delete_allocations(self.hold.uuid)
        findings = self.found()
        self.fail_changes(ks_exc.ConnectFailure('a test'))

        heal.heal(self.context, self.deployment.placement_client(), findings)

        self.before_request = None
        self.acquire_lease(self.uuid)

    def test_changed_hold_is_held_again(self):
        self.placement.consumers[self.hold.uuid].allocations = {
            self.provider: {'VCPU': 1}
        }

        self.heal(Kind.MISMATCH)

        self.assertEqual({'m-0': 'HELD'}, self.statuses(self.uuid))
        self.assertEqual(2, self.used(self.provider))

    def test_hold_beyond_capacity_is_released(self):
        self.deployment.resize_provider(self.provider, 0)

        self.heal(Kind.OVERCOMMITTED)

        self.assertEqual({'m-0': 'FAILED'}, self.statuses(self.uuid))
        self.assertEqual(0, self.used(self.provider))

    def test_exclusive_host_without_its_allocations_is_filled_again(self):
        self.uuid, provider = self.held_exclusive(slots=3, members=2)
        self.deployment.delete_allocations(
            *(each.uuid for each in self.holds(self.uuid))
        )

        self.heal(Kind.MISSING)

        self.assertEqual(6, self.used(provider))

    def test_orphan_is_released_on_request_only(self):
        orphan = self.hold.duplicate()
        self.deployment.placement_client().hold(self.context, [orphan])
        heal.heal(
            *(self.context, self.deployment.placement_client()), self.found()
        )
        self.assertEqual(4, self.used(self.provider))

        self.heal(Kind.ORPHAN, orphans=True)

        self.assertEqual(2, self.used(self.provider))

    def test_refilled_hold_is_released(self):
        [row] = VRTHold.create_all(self.context, [self.hold.duplicate()])
        self.change(models.Hold, row.id, status=states.Hold.RELEASED)
        self.deployment.placement_client().hold(self.context, [row])

        self.heal(Kind.REFILLED)

        self.assertEqual(2, self.used(self.provider))

    def test_member_without_a_hold_fails(self):
        self.change(models.Hold, self.hold.id, status=states.Hold.RELEASED)
        self.deployment.delete_allocations(self.hold.uuid)

        self.heal(Kind.INCONSISTENT)

        self.assertEqual({'m-0': 'FAILED'}, self.statuses(self.uuid))

    def test_hold_that_matches_no_member_is_released(self):
        member = self.deployment.member(self.uuid, 'm-0')
        self.change(models.Member, member.id, status=states.Member.RELEASED)

        self.heal(Kind.INCONSISTENT)

        self.assertEqual(0, self.used(self.provider))

    def test_overdue_create_is_finished(self):
        self.kill_at(
            'after redeem.reserve', self.deployment.redeem, self.uuid, 'm-0'
        )
        [server] = self.deployment.server_outcomes
        self.deployment.server_outcomes[server] = servers.ServerOutcome.LIVE
        self.sleep(3 * deployment.LATER)

        self.heal(Kind.OVERDUE)

        self.assertEqual({'m-0': 'ACTIVE'}, self.statuses(self.uuid))

    def test_unfinished_swap_is_taken_over(self):
        self.deployment.delete_allocations(self.hold.uuid)
        self.kill_at('after swap.apply', self.deployment.reap, 0)
        self.sleep(3 * deployment.LATER)

        self.heal(Kind.OVERDUE)

        self.assertEqual({'m-0': 'HELD'}, self.statuses(self.uuid))
        self.assertEqual(2, self.used(self.provider))

    def test_member_of_a_deleted_server_ends(self):
        server = self.deployment.redeem(self.uuid, 'm-0')
        self.deployment.delete_allocations(server)
        self.deployment.server_outcomes[server] = servers.ServerOutcome.DELETED

        self.heal(Kind.SERVER_WITHOUT_ALLOCATION)

        self.assertEqual({'m-0': 'TENTATIVE'}, self.statuses(self.uuid))

    def test_error_in_one_part_does_not_stop_the_others(self):
        """Placement refuses to empty an orphan."""
        orphan = self.hold.duplicate()
        self.deployment.placement_client().hold(self.context, [orphan])
        self.deployment.delete_allocations(self.hold.uuid)
        findings = self.found()
        self.refuse_next_change()

        heal.heal(
            *(self.context, self.deployment.placement_client()),
            *(findings, True),
        )

        self.assertEqual([Kind.ORPHAN], [each.kind for each in self.found()])
        self.assertEqual({'m-0': 'HELD'}, self.statuses(self.uuid))
