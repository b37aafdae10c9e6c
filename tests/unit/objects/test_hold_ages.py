# SPDX-License-Identifier: Apache-2.0
"""The age of holds that take the capacity of others in a revision."""

import datetime

from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import hold_ages
from nova_groupext.objects import swaps
from tests import groups
from tests.unit.objects import base

OLD = datetime.datetime(2026, 11, 1, 12)
YOUNG = OLD + datetime.timedelta(days=3)


class TestHoldAges(base.HeldGroupTestCase):
    def setUp(self):
        super().setUp()
        self.group = self.create_held_group()
        self.first, self.second, self.third = self.group.members
        self.set_starts(self.first, held_since=OLD)
        self.set_starts(self.second, held_since=YOUNG)
        self.set_starts(self.third, held_since=None)

    def set_starts(self, member, **values):
        is_member = models.Member.id == member.id
        db.compare_and_set(self.context, models.Member, is_member, **values)

    def starts(self, column=models.Member.held_since):
        """Return [start of a member's hold or None]."""
        ids = [member.id for member in self.group.members]
        rows = db.find_columns(
            self.context,
            [models.Member.id, column],
            models.Member,
            models.Member.id.in_(ids),
        )
        by_id = dict(rows)
        return [by_id[member_id] for member_id in ids]

    def hold(self, member, vcpus=1, provider=uuids.host):
        placement = groups.placement(provider, vcpus)
        return objects.VRTHold.for_member(member, placement)

    def reservation(self, member, vcpus=1):
        placement = groups.placement(uuids.host, vcpus)
        return objects.VRTHold.reservation(member, placement)

    def swap(self, old_holds, new_holds, ending=()):
        swap = swaps.Swap(old_holds, new_holds, ending=ending)
        hold_ages.store(self.context, swap)

    def test_hold_that_begins_is_as_old_as_one_that_ends(self):
        self.swap([self.hold(self.first)], [self.hold(self.third, vcpus=9)])

        self.assertEqual([OLD, YOUNG, OLD], self.starts())

    def test_hold_that_begins_is_as_old_as_the_oldest_that_ends(self):
        self.swap(
            [self.hold(self.second)],
            [self.hold(self.third)],
            ending=[self.hold(self.first)],
        )

        self.assertEqual([OLD, YOUNG, OLD], self.starts())

    def test_hold_that_grows_is_as_old_as_one_that_shrinks(self):
        self.swap(
            [self.hold(self.first, vcpus=8), self.hold(self.second)],
            [self.hold(self.first), self.hold(self.second, vcpus=8)],
        )

        self.assertEqual([OLD, OLD, None], self.starts())

    def test_hold_that_grows_keeps_an_older_start(self):
        self.swap(
            [self.hold(self.first), self.hold(self.second)],
            [self.hold(self.first, vcpus=2)],
        )

        self.assertEqual([OLD, YOUNG, None], self.starts())

    def test_holds_that_move_keep_their_start(self):
        self.swap(
            [self.hold(self.first), self.hold(self.second)],
            [
                self.hold(self.first, provider=uuids.other),
                self.hold(self.second, provider=uuids.other),
            ],
        )

        self.assertEqual([OLD, YOUNG, None], self.starts())

    def test_hold_beside_others_that_stay_has_no_start_yet(self):
        self.swap([], [self.hold(self.third)])

        self.assertEqual([OLD, YOUNG, None], self.starts())

    def test_held_member_whose_server_is_requested_keeps_its_start(self):
        self.first.change(self.context, 'HELD', server_uuid=uuids.server)

        self.assertEqual([OLD, YOUNG, None], self.starts())

    def test_member_that_gets_a_server_or_fails_has_no_start(self):
        self.first.change(self.context, 'REDEEMING', server_uuid=uuids.server)
        self.second.change(self.context, 'FAILED')

        self.assertEqual([None, None, None], self.starts())

    def test_reservation_is_as_old_as_a_hold_that_ends(self):
        self.swap([self.hold(self.first)], [self.reservation(self.third)])

        starts = self.starts(models.Member.reservation_since)
        self.assertEqual([None, None, OLD], starts)

    def test_reservation_is_as_old_as_another_that_ends(self):
        self.set_starts(self.first, reservation_since=OLD)
        self.swap(
            [self.reservation(self.first)], [self.reservation(self.second)]
        )

        starts = self.starts(models.Member.reservation_since)
        self.assertEqual([OLD, OLD, None], starts)

    def test_hold_is_as_old_as_a_reservation_that_ends(self):
        self.set_starts(self.third, reservation_since=OLD)
        self.swap([self.reservation(self.third)], [self.hold(self.second)])

        self.assertEqual([OLD, OLD, None], self.starts())

    def test_reservation_beside_others_that_stay_begins_now(self):
        self.set_starts(self.third, reservation_since=OLD)
        self.swap([], [self.reservation(self.third)])

        [*_others, since] = self.starts(models.Member.reservation_since)
        self.assertGreater(since, YOUNG)

    def test_reservation_that_moves_keeps_its_start(self):
        self.set_starts(self.third, reservation_since=OLD)
        self.swap(
            [self.reservation(self.third)], [self.reservation(self.third)]
        )

        starts = self.starts(models.Member.reservation_since)
        self.assertEqual([None, None, OLD], starts)
