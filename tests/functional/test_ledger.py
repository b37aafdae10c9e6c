# SPDX-License-Identifier: Apache-2.0
"""Is every write to Placement all or nothing, and safe to repeat?"""

import functools

from keystoneauth1 import exceptions as ks_exc
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.db import api as db
from nova_groupext.objects import hold_search
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.scheduler.placement import overcommitment
from nova_groupext.scheduler.protocol import hold_plan
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.protocol import release_holds
from tests import groups
from tests.functional import base


class TestLedger(base.StepTestCase):
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
        self.plan = objects.VRTPlan.newest(self.context, self.vrt_group.id)

    def hold(self):
        lease = groups.lease(self.context, self.vrt_group)
        rows = hold_plan.write_down(
            self.context, lease, self.vrt_group.members, self.plan.placement
        )
        self.addCleanup(lease.release, self.context)
        self.addCleanup(hold_plan.undo, self.context, self.ledger, rows)
        hold_plan.hold(self.context, self.ledger, lease, rows)
        return rows

    def rows(self):
        return objects.VRTHold.list_by_group(self.context, self.vrt_group.id)

    def total(self):
        return sum(self.free().values())

    def swap(self, hold, server):
        self.empty_later(server)
        outcomes = redeem.swap(
            self.context, self.ledger, {server: hold}, 'demo', 'user'
        )
        return outcomes == {server: redeem.Outcome.SWAPPED}

    def test_what_is_asked_on_a_lost_connection_is_asked_again(self):
        row, _other = self.hold()
        client = self.ledger._client
        stock, lost = client.get, [ks_exc.ConnectFailure('closed')]

        def get(*args, **kwargs):
            if lost:
                raise lost.pop()
            return stock(*args, **kwargs)

        self.patch(client, 'get', get)
        ask = functools.partial(
            self.ledger.allocations, self.context, row.uuid
        )

        self.assertEqual(row.allocations, ask())

        lost += [ks_exc.ConnectFailure('closed')] * 2
        self.assertRaises(exception.PlacementUnavailable, ask)

    def test_a_hold_is_of_its_own_type_and_project(self):
        row, _other = self.hold()

        written = self.cloud.placement.get(f'/allocations/{row.uuid}').json()

        self.assertEqual(
            ('VRT_MEMBER', 'nova-groupext-holds'),
            (written['consumer_type'], written['project_id']),
        )

    def test_when_one_hold_does_not_fit_nothing_is_held(self):
        [taken, *_] = self.plan.placement.values()
        self.fill(taken['host'], VCPU=3)

        self.assertRaises(exception.HoldFailed, self.hold)

        self.assertEqual(5, self.total())
        self.assertEqual([], self.rows())
        self.assertEqual(
            {states.Member.TENTATIVE},
            {member.status for member in self.vrt_group.members},
        )

    def test_a_swap_moves_the_capacity_to_the_server(self):
        row, _other = self.hold()
        server = uuidutils.generate_uuid()

        self.assertTrue(self.swap(row, server))

        self.assertEqual(4, self.total())
        self.assertEqual({}, self.ledger.allocations(self.context, row.uuid))
        self.assertEqual(
            row.allocations, self.ledger.allocations(self.context, server)
        )

    def test_a_swap_that_landed_is_answered_again(self):
        row, _other = self.hold()
        server = uuidutils.generate_uuid()
        self.swap(row, server)

        self.assertTrue(self.swap(row, server))
        self.assertEqual(4, self.total())

    def test_a_second_server_gets_nothing(self):
        row, _other = self.hold()
        self.swap(row, uuidutils.generate_uuid())

        self.assertFalse(self.swap(row, uuidutils.generate_uuid()))
        self.assertEqual(4, self.total())

    def successor(self, row):
        [successor] = objects.VRTHold.create_all(self.context, [row.again()])
        self.addCleanup(hold_plan.undo, self.context, self.ledger, [successor])
        return successor

    def test_emptying_twice_frees_once(self):
        row, _other = self.hold()

        self.ledger.empty(self.context, row)
        self.ledger.empty(self.context, row)

        self.assertEqual(6, self.total())

    def test_emptying_a_swapped_hold_leaves_the_server_alone(self):
        row, _other = self.hold()
        server = uuidutils.generate_uuid()
        self.swap(row, server)

        self.ledger.empty(self.context, row)

        self.assertEqual(4, self.total())
        self.assertTrue(self.ledger.allocations(self.context, server))

    def test_what_is_written_late_is_emptied_when_one_looks(self):
        row, _other = self.hold()
        successor = self.successor(row)
        objects.VRTHold.retire(self.context, [successor])
        successor.note_lost(self.context)
        successor.status = states.Hold.RELEASING
        release_holds.empty(self.context, self.ledger, [successor])
        self.ledger.empty(self.context, row)
        self.ledger.hold(self.context, [successor])
        self.assertEqual(4, self.total())

        release_holds.watch(self.context, self.ledger)
        self.assertEqual(4, self.total(), 'it is looked for later')
        self.patch(hold_search, 'WATCHES', (-1, 60))
        release_holds.watch(self.context, self.ledger)

        self.assertEqual(6, self.total())

    def test_too_much_is_what_has_more_used_than_there_is(self):
        provider = self.cloud.provider('cmp-1')
        self.assertEqual({}, self.excess(provider))
        self.fill('cmp-1', VCPU=4)
        self.shrink(provider, reserved=1)

        self.assertEqual({'VCPU': 1}, self.excess(provider))

    def hold_too_much(self):
        """Two holds on a provider that has room for one, by their uuids."""
        row, other = self.hold()
        hold_plan.undo(self.context, self.ledger, [other])
        successor = self.successor(row)
        self.ledger.hold(self.context, [successor])
        self.shrink(row.provider_uuid, reserved=1)
        return sorted((row, successor), key=lambda each: each.uuid)

    def losers(self, *rows):
        return overcommitment.overcommitted_holds(
            self.context, self.ledger, rows
        )

    def test_the_higher_uuid_gives_back_and_the_lower_one_stays(self):
        lower, higher = self.hold_too_much()

        self.assertEqual([higher], self.losers(lower, higher))

    def test_who_was_promised_a_hold_keeps_it_before_all_others(self):
        lower, higher = self.hold_too_much()
        model, own, values, _count = objects.VRTHold.promised([higher])
        db.compare_and_set(self.context, model, *own, **values)
        self.addCleanup(transitions.end_hold, self.context, higher)
        higher.status = states.Hold.HELD

        self.assertEqual([lower], self.losers(lower, higher))

    def test_who_has_just_given_way_is_no_reason_to_give_back(self):
        """It goes after it was read what is used, and before the rows are."""
        lower, higher = self.hold_too_much()
        inventories = self.ledger.inventories

        def give_way(context, provider):
            self.patch(self.ledger, 'inventories', inventories)
            hold_plan.undo(self.context, self.ledger, [higher])
            return inventories(context, provider)

        self.patch(self.ledger, 'inventories', give_way)

        self.assertEqual([], self.losers(lower))

    def test_for_a_server_that_stays_a_hold_is_given_back(self):
        row, other = self.hold()
        hold_plan.undo(self.context, self.ledger, [other])
        self.fill(row.host, VCPU=2)
        self.shrink(row.provider_uuid, reserved=1)

        self.assertEqual([row], self.losers(row))

    def excess(self, provider):
        used = self.ledger.used(self.context, provider)
        return self.ledger.excess(self.context, provider, used)

    def test_a_provider_that_is_gone_has_nothing(self):
        gone = uuidutils.generate_uuid()

        self.assertIsNone(self.ledger.used(self.context, gone))
        self.assertEqual({}, self.ledger.inventories(self.context, gone))
        self.assertEqual({}, self.ledger.excess(self.context, gone, {}))
