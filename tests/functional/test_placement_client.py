# SPDX-License-Identifier: Apache-2.0
"""Writes of holds to Placement: all or nothing, and safe to repeat."""

import functools

from keystoneauth1 import exceptions as ks_exc
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.db import api as db
from nova_groupext.objects import redeems
from nova_groupext.objects import states
from nova_groupext.objects import watched_holds
from nova_groupext.scheduler.placement import overcommitment
from nova_groupext.scheduler.protocol import hold_plan
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.protocol import release_holds
from tests import groups
from tests.functional import base


class TestPlacementClient(base.StepTestCase):
    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=4),
        hosts.Host('cmp-2', 'r2', 'az1', vcpus=4),
    )

    def setUp(self):
        super().setUp()
        uuid = self.describe(
            {'members': {'a': base.member('m1.medium', count=2)}}, hold=False
        )['id']
        self.vrt_group = objects.VRTGroup.get(self.context, uuid)
        self.plan = objects.VRTPlan.find_newest(
            self.context, self.vrt_group.id
        )

    def hold(self):
        lease = groups.acquire_lease(self.context, self.vrt_group)
        rows = hold_plan.insert_plan(
            self.context, lease, self.vrt_group.members, self.plan.placements
        )
        self.addCleanup(lease.release, self.context)
        self.addCleanup(
            hold_plan.release_pending,
            self.context,
            self.placement_client,
            rows,
        )
        hold_plan.hold(self.context, self.placement_client, lease, rows)
        return rows

    def rows(self):
        return objects.VRTHold.list_by_group(self.context, self.vrt_group.id)

    def total(self):
        return sum(self.free().values())

    def transfer(self, hold, server):
        self.delete_allocations_later(server)
        outcomes = redeem.transfer(
            self.context, self.placement_client, {server: hold}, 'demo', 'user'
        )
        return outcomes == {server: redeem.Outcome.TRANSFERRED}

    def test_read_on_a_lost_connection_is_retried_once(self):
        row, _other = self.hold()
        client = self.placement_client._http._client
        stock, lost = client.get, [ks_exc.ConnectFailure('closed')]

        def get(*args, **kwargs):
            if lost:
                raise lost.pop()
            return stock(*args, **kwargs)

        self.patch(client, 'get', get)
        ask = functools.partial(
            self.placement_client.allocations, self.context, row.uuid
        )

        self.assertEqual(row.allocations, ask())

        lost += [ks_exc.ConnectFailure('closed')] * 2
        self.assertRaises(exception.PlacementUnavailable, ask)

    def test_hold_has_its_own_consumer_type_and_project(self):
        row, _other = self.hold()

        written = self.cloud.placement.get(f'/allocations/{row.uuid}').json()

        self.assertEqual(
            ('VRT_MEMBER', 'nova-groupext-holds'),
            (written['consumer_type'], written['project_id']),
        )

    def test_plan_with_one_hold_that_does_not_fit_holds_nothing(self):
        [taken, *_] = self.plan.placements.values()
        self.fill(taken.host, VCPU=3)

        self.assertRaises(exception.HoldFailed, self.hold)

        self.assertEqual(5, self.total())
        self.assertEqual([], self.rows())
        self.assertEqual(
            {states.Member.TENTATIVE},
            {member.status for member in self.vrt_group.members},
        )

    def test_swap_transfers_the_capacity_to_the_server(self):
        row, _other = self.hold()
        server = uuidutils.generate_uuid()

        self.assertTrue(self.transfer(row, server))

        self.assertEqual(4, self.total())
        self.assertEqual(
            {}, self.placement_client.allocations(self.context, row.uuid)
        )
        self.assertEqual(
            row.allocations,
            self.placement_client.allocations(self.context, server),
        )

    def test_repeated_swap_for_the_same_server_succeeds(self):
        row, _other = self.hold()
        server = uuidutils.generate_uuid()
        self.transfer(row, server)

        self.assertTrue(self.transfer(row, server))
        self.assertEqual(4, self.total())

    def test_swap_for_a_second_server_fails(self):
        row, _other = self.hold()
        self.transfer(row, uuidutils.generate_uuid())

        self.assertFalse(self.transfer(row, uuidutils.generate_uuid()))
        self.assertEqual(4, self.total())

    def successor(self, row):
        [successor] = objects.VRTHold.create_all(
            self.context, [row.duplicate()]
        )
        self.addCleanup(
            hold_plan.release_pending,
            self.context,
            self.placement_client,
            [successor],
        )
        return successor

    def test_second_release_of_a_hold_frees_nothing(self):
        row, _other = self.hold()

        self.placement_client.empty(self.context, row.uuid)
        self.placement_client.empty(self.context, row.uuid)

        self.assertEqual(6, self.total())

    def test_release_of_a_redeemed_hold_keeps_the_server_allocation(self):
        row, _other = self.hold()
        server = uuidutils.generate_uuid()
        self.transfer(row, server)

        self.placement_client.empty(self.context, row.uuid)

        self.assertEqual(4, self.total())
        self.assertTrue(
            self.placement_client.allocations(self.context, server)
        )

    def test_late_allocation_of_a_watched_hold_is_released(self):
        row, _other = self.hold()
        successor = self.successor(row)
        objects.VRTHold.abandon(self.context, [successor])
        watched_holds.mark_lost(self.context, successor)
        successor.status = states.Hold.RELEASING
        release_holds.release(self.context, self.placement_client, [successor])
        self.placement_client.empty(self.context, row.uuid)
        self.placement_client.hold(self.context, [successor])
        self.assertEqual(4, self.total())

        release_holds.check_watched(self.context, self.placement_client)
        self.assertEqual(4, self.total(), 'it is looked for later')
        self.patch(watched_holds, 'CHECK_DELAYS', (-1, 60))
        release_holds.check_watched(self.context, self.placement_client)

        self.assertEqual(6, self.total())

    def test_overcommitment_is_usage_beyond_capacity(self):
        provider = self.cloud.provider('cmp-1')
        self.assertEqual({}, self.excess(provider))
        self.fill('cmp-1', VCPU=4)
        self.change_inventory(provider, reserved=1)

        self.assertEqual({'VCPU': 1}, self.excess(provider))

    def hold_too_much(self):
        """Return two holds, sorted by uuid, that overcommit a provider."""
        row, other = self.hold()
        hold_plan.release_pending(self.context, self.placement_client, [other])
        successor = self.successor(row)
        self.placement_client.hold(self.context, [successor])
        self.change_inventory(row.provider_uuid, reserved=1)
        return sorted((row, successor), key=lambda each: each.uuid)

    def losers(self, *rows):
        return overcommitment.overcommitted_holds(
            self.context, self.placement_client, rows
        )

    def test_overcommitted_hold_with_the_higher_uuid_is_released(self):
        lower, higher = self.hold_too_much()

        self.assertEqual([higher], self.losers(lower, higher))

    def test_committed_hold_precedes_holds_in_writing(self):
        lower, higher = self.hold_too_much()
        model, own, values, _count = objects.VRTHold.change_to_held([higher])
        db.compare_and_set(self.context, model, *own, **values)
        self.addCleanup(redeems.end_hold, self.context, higher)
        higher.status = states.Hold.HELD

        self.assertEqual([lower], self.losers(lower, higher))

    def test_concurrently_released_hold_is_not_counted(self):
        """The other hold is released between reading usages and rows."""
        lower, higher = self.hold_too_much()
        inventories = self.placement_client.inventories

        def give_way(context, provider):
            self.patch(self.placement_client, 'inventories', inventories)
            hold_plan.release_pending(
                self.context, self.placement_client, [higher]
            )
            return inventories(context, provider)

        self.patch(self.placement_client, 'inventories', give_way)

        self.assertEqual([], self.losers(lower))

    def test_hold_is_released_before_a_foreign_consumer(self):
        row, other = self.hold()
        hold_plan.release_pending(self.context, self.placement_client, [other])
        self.fill(row.host, VCPU=2)
        self.change_inventory(row.provider_uuid, reserved=1)

        self.assertEqual([row], self.losers(row))

    def excess(self, provider):
        used = self.placement_client.usages(self.context, provider)
        return self.placement_client.overcommitment(
            self.context, provider, used
        )

    def test_deleted_provider_has_no_usages_or_inventories(self):
        gone = uuidutils.generate_uuid()

        self.assertIsNone(self.placement_client.usages(self.context, gone))
        self.assertEqual(
            {}, self.placement_client.inventories(self.context, gone)
        )
        self.assertEqual(
            {}, self.placement_client.overcommitment(self.context, gone, {})
        )
