# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/reap/reaper.py``."""

import datetime
import types

import fixtures
from oslo_utils import timeutils

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.membership import settle_group
from nova_groupext.objects import states
from nova_groupext.objects import watched_holds
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.protocol import release_holds
from nova_groupext.scheduler.reap import reaper
from tests import groups
from tests.services import deployment
from tests.unit.objects import base as objects_base
from tests.unit.scheduler import base


class TestExpire(base.ProtocolTestCase):
    """A group with one server and one hold."""

    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held(members=2)
        self.deployment.redeem(self.uuid, 'm-0')

    def expire(self):
        reaper.expire(self.context)
        return self.statuses(self.uuid)

    def test_holds_of_an_expired_group_are_released(self):
        self.deployment.expire(self.uuid)

        self.assertEqual({'m-0': 'ACTIVE', 'm-1': 'TENTATIVE'}, self.expire())

        self.assertEqual(
            ['REDEEMED', 'RELEASING'], self.hold_statuses(self.uuid)
        )
        self.assertEqual('ACTIVE', self.deployment.group(self.uuid).status)

    def test_group_that_has_not_expired_keeps_its_holds(self):
        self.sleep(deployment.LATER)

        self.assertEqual({'m-0': 'ACTIVE', 'm-1': 'HELD'}, self.expire())

    def test_group_that_is_extended_in_time_keeps_its_holds(self):
        self.deployment.expire(self.uuid)
        group = self.deployment.group(self.uuid)
        self.sleep(-2)
        group.extend(self.context, 60)
        self.sleep(2)

        self.assertEqual({'m-0': 'ACTIVE', 'm-1': 'HELD'}, self.expire())

    def test_holds_older_than_the_maximum_are_released(self):
        self.set_option('max_hold_lifetime', 3600)
        self.assertEqual('HELD', self.expire()['m-1'])
        self.sleep(3601)

        self.assertEqual({'m-0': 'ACTIVE', 'm-1': 'TENTATIVE'}, self.expire())


class TestSteps(base.ProtocolTestCase):
    def test_group_that_cannot_be_settled_does_not_stop_the_others(self):
        settled = []

        def settle(_context, group_id):
            settled.append(group_id)
            if len(settled) == 1:
                raise ZeroDivisionError

        ids = [self.deployment.group(self.held()[0]).id for _each in range(2)]
        for name, value in (
            ('settle', settle),
            ('list_groups', lambda _: ids),
        ):
            self.useFixture(
                fixtures.MockPatchObject(settle_group, name, value)
            )

        reaper.end_creates(self.context)

        self.assertEqual(ids, settled)

    def release_ending(self):
        reaper.release_ending(self.context, self.deployment.placement_client())

    def test_ending_holds_are_emptied(self):
        uuid, provider = self.held(members=2)
        self.deployment.request_release(uuid, 'm-0')

        self.release_ending()

        self.assertEqual(['RELEASED', 'HELD'], self.hold_statuses(uuid))
        self.assertEqual(2, self.used(provider))

    def test_ending_holds_of_exclusive_groups_are_left_to_maintenance(self):
        uuid, provider = self.held_exclusive(members=2)
        self.deployment.request_release(uuid, 'm-0')

        self.release_ending()

        self.assertEqual(4, self.used(provider))

    def test_stuck_redeem_is_resolved(self):
        uuid, _provider = self.held(slots=1)
        self.kill_at(
            'after redeem.reserve', self.deployment.redeem, uuid, 'm-0'
        )
        [server] = self.deployment.server_outcomes
        self.deployment.server_outcomes[server] = servers.ServerOutcome.LIVE
        self.assertEqual([], redeem.list_overdue(self.context))
        self.sleep(deployment.LATER)
        [member] = redeem.list_overdue(self.context)

        for _round in range(2):
            reaper.resolve_redeem(
                self.context, self.deployment.placement_client(), member
            )

        self.assertEqual({'m-0': 'ACTIVE'}, self.statuses(uuid))
        self.assertEqual([server], [*self.deployment.allocations()])

    def test_redeem_without_a_hold_is_skipped(self):
        reaper.resolve_redeem(
            self.context, None, types.SimpleNamespace(id=12345)
        )

    def test_late_allocation_of_a_watched_hold_is_emptied(self):
        uuid, provider = self.held(slots=1)
        hold = self.deployment.hold(uuid, 'm-0')
        watched_holds.mark_lost(self.context, hold)
        self.deployment.request_release(uuid)
        self.release_ending()
        self.deployment.fill(provider, consumer=hold.uuid)
        self.sleep(watched_holds.CHECK_DELAYS[0] + 1)

        release_holds.check_watched(
            self.context, self.deployment.placement_client()
        )

        self.assertEqual(0, self.used(provider))

    def test_small_groups_do_not_wait_for_large_ones(self):
        large, _provider = self.held(slots=3, members=3)
        small, _provider = self.held()
        for uuid in (large, small):
            self.deployment.request_release(uuid)
        [ending] = self.holds(small)
        self.posts.clear()

        with fixtures.MockPatchObject(release_holds, 'EMPTIED_AT_ONCE', 1):
            self.release_ending()

        self.assertEqual({ending.uuid}, self.posts[0])
        self.assertEqual(4, len(self.posts))

    def test_tombstones_are_removed_after_their_lifetime(self):
        self.set_option('tombstone_lifetime', 3600)
        uuid, _provider = self.held(slots=1)
        self.deployment.request_release(uuid)
        self.release_ending()
        for expected, seconds in ((1, 3599), (0, 2)):
            self.sleep(seconds)

            reaper.purge_tombstones(self.context)

            self.assertEqual(expected, len(self.hold_statuses(uuid)))

    def test_orphan_is_emptied(self):
        provider = self.deployment.make_provider(1)
        orphan = self.deployment.fill(provider)

        reaper.empty_orphan(
            *(self.context, self.deployment.placement_client()),
            types.SimpleNamespace(consumer=orphan),
        )

        self.assertEqual(0, self.used(provider))


class TestMembersToReplace(objects_base.HeldGroupTestCase):
    """The first of three members has failed on its planned host."""

    def setUp(self):
        super().setUp()
        self.group = self.create_held_group(
            timeutils.utcnow() + datetime.timedelta(hours=1)
        )
        self.member = self.group.members[0]
        placements = {
            each.path: groups.placement('a-node', 1)
            for each in self.group.members
        }
        VRTPlan(
            group_id=self.group.id,
            status=VRTPlan.PLACED,
            placements=placements,
            answer={},
        ).create(self.context)
        self.hold = VRTHold.find_by_member(self.context, self.member.id)
        self.end_hold(self.member, states.Member.FAILED)

    def to_replace(self, max_attempts):
        reaper.CONF.set_override(
            'max_automatic_replacements', max_attempts, 'vrt'
        )
        self.addCleanup(
            *(reaper.CONF.clear_override, 'max_automatic_replacements', 'vrt')
        )
        return [
            excluded
            for _group, excluded in reaper.members_to_replace(self.context)
        ]

    def set(self, model, row_id, **values):
        db.compare_and_set(self.context, model, model.id == row_id, **values)

    def test_failed_member_is_replaced_on_another_host(self):
        self.assertEqual([{'master': ['a-node']}], self.to_replace(2))

    def test_no_member_is_replaced_by_default(self):
        self.assertEqual([], self.to_replace(0))

    def test_member_with_enough_attempts_is_left_out(self):
        other = self.group.members[1]
        self.end_hold(other, states.Member.FAILED)
        self.set(models.Member, self.member.id, replacement_attempts=2)

        self.assertEqual([{other.path: ['a-node']}], self.to_replace(2))

    def test_member_whose_hold_was_lost_may_return_to_its_host(self):
        """It is tried once, though the operator has not enabled that."""
        self.set(
            models.Hold,
            self.hold.id,
            status=states.Hold.RELEASED,
            lost=True,
        )

        self.assertEqual([{'master': []}], self.to_replace(0))
