# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/resize/reservations.py``."""

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import redeems
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.resize import reservations
from tests.services import deployment
from tests.unit.scheduler import base


class TestFollowReservations(base.ProtocolTestCase):
    """A server with a reservation on another host, for its resize."""

    def setUp(self):
        super().setUp()
        self.uuid, _provider, self.server = self.redeemed()
        self.provider = self.deployment.make_provider(1)
        self.row = self.deployment.reserve_resize(self.uuid, self.provider)
        self.posts.clear()

    def follow(self):
        reservations.follow_reservations(
            *(self.context, self.deployment.placement_client()),
            self.deployment.leases(),
        )

    def current(self):
        """Return the reservation as it is now, under its first uuid."""
        [row] = VRTHold.list_by_uuids(self.context, [self.row.uuid])
        return row

    def assert_held_again(self):
        [successor] = VRTHold.list_reservations(self.context)
        self.assertNotEqual(self.row.uuid, successor.uuid)
        self.assertEqual(
            successor.allocations,
            self.deployment.allocations()[successor.uuid],
        )

    def change_member(self, **values):
        db.compare_and_set(
            self.context,
            models.Member,
            models.Member.server_uuid == self.server,
            **values,
        )

    def test_reservation_that_is_needed_is_kept(self):
        self.follow()

        self.assertEqual('HELD', self.current().status)
        self.assertEqual([], self.posts)

    def test_missing_reservation_is_held_again(self):
        self.deployment.delete_allocations(self.row.uuid)

        self.follow()

        self.assert_held_again()

    def test_changed_reservation_is_held_again(self):
        self.placement.consumers[self.row.uuid].allocations = {
            self.provider: {'VCPU': 1}
        }

        self.follow()

        self.assert_held_again()
        self.assertEqual(2, self.used(self.provider))

    def test_missing_reservation_without_capacity_ends(self):
        self.deployment.delete_allocations(self.row.uuid)
        self.deployment.fill(self.provider)

        self.follow()

        self.assertEqual([], VRTHold.list_reservations(self.context))
        self.assertEqual({'m-0': 'ACTIVE'}, self.statuses(self.uuid))

    def test_reservation_of_a_leased_group_waits_for_the_next_round(self):
        self.deployment.delete_allocations(self.row.uuid)
        lease = self.acquire_lease(self.uuid)
        self.follow()
        self.assertEqual([], self.posts)
        lease.release(self.context)

        self.follow()

        self.assert_held_again()

    def test_reservation_without_a_server_to_resize_ends(self):
        self.change_member(server_request=None)

        self.follow()

        self.assertEqual('RELEASING', self.current().status)

    def test_reservation_on_a_disabled_host_ends(self):
        self.deployment.disabled_hosts.add(self.provider)

        self.follow()

        self.assertEqual('RELEASING', self.current().status)

    def test_reservation_beyond_capacity_ends(self):
        self.deployment.resize_provider(self.provider, 0)

        self.follow()

        self.assertEqual('RELEASING', self.current().status)

    def test_silent_placement_changes_nothing(self):
        self.deployment.delete_allocations(self.row.uuid)
        self.silence()

        self.follow()

        self.assertEqual('HELD', self.current().status)

    def test_reservation_of_a_server_that_stays_shelved_ends(self):
        self.change_member(status=states.Member.SHELVED, server_request=None)
        self.sleep(1)
        self.follow()
        self.assertEqual('HELD', self.current().status)
        self.sleep(deployment.LATER)

        self.follow()

        self.assertEqual('RELEASING', self.current().status)

    def test_unfinished_resize_without_its_swap_is_released(self):
        redeems.redeem_reservation(self.context, self.row, self.server)

        self.assert_resolved_later('RELEASING')

    def test_unfinished_resize_with_its_swap_is_redeemed(self):
        redeems.redeem_reservation(self.context, self.row, self.server)
        self.deployment.delete_allocations(self.row.uuid, self.server)
        self.deployment.fill(self.provider, consumer=self.server)

        self.assert_resolved_later('REDEEMED')

    def assert_resolved_later(self, status):
        """Expect a status once no scheduler can work on the resize."""
        self.sleep(1)
        self.follow()
        self.assertEqual('REDEEMING', self.current().status)
        self.sleep(deployment.LATER)

        self.follow()

        self.assertEqual(status, self.current().status)
