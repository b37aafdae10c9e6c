# SPDX-License-Identifier: Apache-2.0
"""Is every write to Placement all or nothing, and safe to repeat?"""

import datetime

from nova import context as nova_context
from nova.scheduler.client import report
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.objects import states
from nova_groupext.scheduler import holding
from nova_groupext.scheduler import ledger
from tests.functional import base


class TestLedger(base.GroupTestCase):
    # It would take away what a group holds that is not held.
    PARTS = base.WITHOUT_REAPER
    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=4),
        hosts.Host('cmp-2', 'r2', 'az1', vcpus=4),
    )

    def setUp(self):
        super().setUp()
        self.context = nova_context.get_admin_context()
        self.ledger = ledger.Ledger(report.SchedulerReportClient())
        uuid = self.describe(
            {'members': {'a': base.member('m1.medium', count=2)}}, hold=False
        )['id']
        self.vrt_group = objects.VRTGroup.get(self.context, uuid)
        self.plan = objects.VRTPlan.newest(self.context, self.vrt_group.id)

    def hold(self):
        holding.hold(self.context, self.vrt_group, self.plan, self.ledger)
        self.addCleanup(
            holding.roll_back, self.context, self.vrt_group, self.ledger
        )
        return self.rows()

    def rows(self):
        return objects.VRTHold.list_by_group(self.context, self.vrt_group.id)

    def total(self):
        return sum(self.free().values())

    def swap(self, hold, server):
        self.empty_later(server)
        return self.ledger.swap(self.context, hold, server, 'demo', 'user')

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

    def test_a_fenced_hold_cannot_be_swapped_any_more(self):
        row, _other = self.hold()

        fenced = self.ledger.fence(self.context, row)

        self.assertFalse(self.swap(row, uuidutils.generate_uuid()))
        self.assertTrue(self.swap(fenced, uuidutils.generate_uuid()))
        self.assertEqual(4, self.total())

    def test_a_swapped_hold_cannot_be_fenced(self):
        row, _other = self.hold()
        self.swap(row, uuidutils.generate_uuid())

        self.assertIsNone(self.ledger.fence(self.context, row))
        self.assertEqual(2, len(self.rows()))

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

    def test_a_hold_that_was_never_written_is_forgotten(self):
        row, _other = self.hold()
        unwritten = objects.VRTHold(
            **{
                name: getattr(row, name)
                for name in row.fields
                if name in ledger.SEAT
            },
            uuid=uuidutils.generate_uuid(),
            status=states.Hold.WRITING,
        )
        unwritten.consumer_generation = None
        unwritten.create(self.context)

        self.ledger.empty(self.context, unwritten)
        self.assertEqual(3, len(self.rows()), 'a request may still come')
        unwritten.created_at -= datetime.timedelta(minutes=5)
        self.ledger.empty(self.context, unwritten)

        self.assertEqual(2, len(self.rows()))
        self.assertEqual(4, self.total())

    def test_overcommitted_is_what_has_more_used_than_there_is(self):
        provider = self.cloud.provider('cmp-1')
        self.assertFalse(self.is_overcommitted(provider))
        self.fill('cmp-1', VCPU=4)
        path = f'/resource_providers/{provider}/inventories/VCPU'
        inventory = self.cloud.placement.get(path).json()
        self.addCleanup(self.restore, path, inventory)

        self.cloud.placement.put(path, json={**inventory, 'reserved': 1})

        self.assertTrue(self.is_overcommitted(provider))
        self.assertFalse(self.is_overcommitted(provider, ['DISK_GB']))

    def is_overcommitted(self, provider, names=('VCPU',)):
        return self.ledger.is_overcommitted(self.context, provider, names)

    def restore(self, path, inventory):
        now = self.cloud.placement.get(path).json()
        generation = now['resource_provider_generation']
        self.cloud.placement.put(
            path,
            json={**inventory, 'resource_provider_generation': generation},
        )
