# SPDX-License-Identifier: Apache-2.0
"""Operations that the reaper finishes after their processes have ended."""

import dataclasses
import datetime

from nova.scheduler.client import report
from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.cloud import with_groups
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import redeems
from nova_groupext.objects import states
from nova_groupext.scheduler.placement import client
from nova_groupext.scheduler.protocol import hold_plan
from tests import groups
from tests.functional import base


class TestReaper(base.GroupTestCase):
    HOSTS = (hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),)
    PARTS = dataclasses.replace(
        with_groups.HOLISTIC,
        config=f'{with_groups.HOLISTIC.config}\nreap_interval = 1\n',
    )

    def long_ago(self):
        return timeutils.utcnow() - datetime.timedelta(hours=1)

    def test_expired_holds_are_released_and_servers_stay(self):
        uuid = self.hold_group({'members': {'a': base.member(count=3)}})['id']
        server = self.redeem(uuid, 'a-0', 'm1.tiny')

        self.change_row(uuid, expires_at=self.long_ago())

        self.eventually(self.free, lambda free: free == {'cmp-1': 7})
        group = self.eventually(
            self.group, lambda now: now['status'] == 'ACTIVE', uuid
        )
        self.assertEqual(
            ['ACTIVE', 'TENTATIVE', 'TENTATIVE'],
            [member['status'] for member in group['members']],
        )
        self.assertEqual('ACTIVE', server.manager.get(server).status)

    def test_late_server_gets_a_host_anew(self):
        # The group may expire before a request sees it held.
        uuid = self.describe(
            {'members': {'a': base.member(count=2)}}, expires_in=1
        )['id']
        self.eventually(
            self.group, lambda now: now['status'] == 'RELEASED', uuid
        )
        self.eventually(self.free, lambda free: free == {'cmp-1': 8})

        group = self.group(uuid)
        told = f'its group expired at {group["expires_at"]}'
        self.assertEqual(
            [('TENTATIVE', told)] * 2,
            [
                (member['status'], member['fault']['message'])
                for member in group['members']
            ],
        )

        server = self.redeem(uuid, 'a-0', 'm1.tiny')

        self.assertEqual('ACTIVE', server.status, vars(server))
        self.assertEqual({'cmp-1': 7}, self.free())

    def test_extended_group_outlives_a_later_group(self):
        described = {'topology': {'members': {'a': base.member()}}}
        uuid = self.hold_group(**described, expires_in=60)['id']
        extended = self.act(uuid, 'extend', {'expires_in': 3600})
        self.assertEqual(202, extended.status_code, extended.text)
        expires_at = objects.VRTGroup.get(self.context, uuid).expires_at
        # Without the extension it would be over by now.
        passed = datetime.timedelta(seconds=120)
        self.change_row(uuid, expires_at=expires_at - passed)

        self.describe(**described, expires_in=1)
        self.eventually(self.free, lambda free: free == {'cmp-1': 7})

        self.assertEqual('HELD', self.group(uuid)['status'])

    def test_group_whose_planner_died_while_holding_is_replanned(self):
        uuid = self.describe(
            {'members': {'a': base.member(count=2)}}, hold=False
        )['id']
        before = self.hold_half(uuid)

        self.change_row(
            uuid,
            status=states.Group.PLANNING,
            hold_when_planned=True,
            updated_at=self.long_ago(),
        )

        self.eventually(self.group, lambda now: now['status'] == 'HELD', uuid)
        self.assertEqual({'cmp-1': 6}, self.free())
        after = {hold.uuid for hold in self.holds_of(uuid)}
        self.assertEqual(set(), after & before)

    def test_holds_of_a_group_in_error_are_released(self):
        uuid = self.describe(
            {'members': {'a': base.member(count=2)}}, hold=False
        )['id']
        self.hold_half(uuid)

        self.change_row(uuid, status=states.Group.ERROR)

        self.eventually(lambda: self.holds_of(uuid), lambda rows: not rows)
        self.assertEqual({'cmp-1': 8}, self.free())

    def test_capacity_of_an_unknown_server_is_taken_back(self):
        """The reaper finishes the redeem, and Nova has no such server."""
        uuid = self.hold_group({'members': {'a': base.member()}})['id']
        [hold] = self.holds_of(uuid)
        member = objects.VRTMember.find_by_id(self.context, hold.member_id)
        own = {uuidutils.generate_uuid(): (member, hold)}
        self.assertTrue(redeems.reserve(self.context, own))

        for status in ('ACTIVE', 'HELD'):
            db.compare_and_set(
                self.context,
                models.Member,
                models.Member.id == member.id,
                updated_at=self.long_ago(),
            )
            self.eventually(
                lambda: self.group(uuid)['members'][0]['status'],
                lambda now, due=status: now == due,
            )

        self.assertEqual({'cmp-1': 7}, self.free())
        self.redeem(uuid, 'a', 'm1.tiny')
        self.assertEqual({'cmp-1': 7}, self.free())

    def test_hold_rewritten_by_an_admin_is_released_on_expiry(self):
        """The admin's write changes the generation of the consumer."""
        first = self.hold_group({'members': {'a': base.member()}})['id']
        second = self.hold_group({'members': {'a': base.member()}})['id']
        [hold] = self.holds_of(first)
        path = f'/allocations/{hold.uuid}'
        written = self.cloud.placement.get(path).json()
        self.cloud.placement.put(path, json=written)

        self.change_row(first, expires_at=self.long_ago())
        self.change_row(second, expires_at=self.long_ago())

        self.eventually(self.free, lambda free: free == {'cmp-1': 8})

    def hold_half(self, uuid):
        """Write holds and stop, like a planner that is killed."""
        group = objects.VRTGroup.get(self.context, uuid)
        plan = objects.VRTPlan.find_newest(self.context, group.id)
        placement = client.PlacementClient(report.SchedulerReportClient())
        # Before a planner finds it waiting.
        lease = groups.acquire_lease(self.context, group)
        self.change_row(uuid, status=states.Group.PLANNING)
        rows = hold_plan.insert_plan(
            self.context, lease, group.members, plan.placements
        )
        hold_plan.hold(self.context, placement, lease, rows)
        self.assertEqual({'cmp-1': 6}, self.free())
        objects.VRTLease.end_all(self.context, [lease.operation])
        return {hold.uuid for hold in self.holds_of(uuid)}
