# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/membership/settle_group.py``."""

from oslo_utils import timeutils
from oslo_utils.fixture import uuidsentinel as uuids

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.membership import settle_group
from nova_groupext.objects import drafts
from nova_groupext.objects import states
from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.member_set import Matching
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.solver.language import paths
from tests import groups
from tests.unit.objects import base

Member = states.Member


class TestSettle(base.HeldGroupTestCase):
    """A group of three held members, of which one is described."""

    MAX_COUNT = 4

    def setUp(self):
        super().setUp()
        self.group = self.create(
            **groups.members_of(groups.member_set('m', count=3)),
            subgroups=[],
            policies=[],
            relationships=[],
        )
        holds = groups.create_holds(self.context, self.group)
        groups.hold_all(
            self.context, self.group, holds, timeutils.utcnow().replace(2100)
        )
        counts = {'count': 1, 'max_count': self.MAX_COUNT}
        self.group.member_sets[0].update_row(self.context, description=counts)
        self.change('m-0', status=Member.ACTIVE)

    def change(self, path, **values):
        self.member(path).update_row(self.context, **values)

    def member(self, path):
        [member] = [
            each for each in self.get(self.group).members if each.path == path
        ]
        return member

    def end(self):
        settle_group.settle(self.context, self.group.id)
        return {
            each.path: each.status for each in self.get(self.group).members
        }

    def test_held_members_beyond_count_end_with_their_holds(self):
        held = [self.member(path).id for path in ('m-1', 'm-2')]

        self.assertEqual({'m-0': 'ACTIVE'}, self.end())

        [deleted_draft] = VRTGroup.list_releasing(self.context, self.group)
        self.assertEqual(held, [each.id for each in deleted_draft.members])
        holds = VRTHold.list_by_group(self.context, deleted_draft.id)
        self.assertEqual(
            [states.Hold.RELEASING] * 2, [each.status for each in holds]
        )
        self.assertEqual(states.Group.ACTIVE, self.get(self.group).status)

    def test_hold_of_a_failed_server_stays_as_it_is(self):
        self.change('m-1', status=Member.FAILED)
        VRTHold.update_rows(
            self.context,
            models.Hold.member_id == self.member('m-1').id,
            status=states.Hold.REDEEMED,
        )

        self.end()

        [deleted_draft] = VRTGroup.list_releasing(self.context, self.group)
        holds = VRTHold.list_by_group(self.context, deleted_draft.id)
        self.assertEqual(
            [states.Hold.REDEEMED, states.Hold.RELEASING],
            sorted(each.status for each in holds),
        )

    def test_server_is_not_pending_any_more_if_it_is_described_again(self):
        described = self.member('m-0').resolved_request
        for request, expected in (
            ({'flavor_id': 'old'}, {'flavor_id': 'old'}),
            ({**described, 'other': 1}, None),
        ):
            self.change('m-0', server_request=request)
            self.end()
            self.assertEqual(expected, self.member('m-0').server_request)

    def test_members_that_are_awaited_stay(self):
        self.change('m-2', reserved_for=uuids.server)
        VRTCreate.start(
            *(self.context, self.group, 'm', Matching(), [uuids.server]),
            seconds=60,
            limit=1,
            project_limit=1,
        )
        self.assertEqual(
            [self.group.id], settle_group.list_groups(self.context)
        )

        self.assertEqual({'m-0': 'ACTIVE', 'm-2': 'HELD'}, self.end())

        self.assertEqual(uuids.server, self.member('m-2').reserved_for)

    def test_reservations_of_other_groups_stay(self):
        other = self.create_held_group()
        [member, *_others] = other.members
        member.update_row(self.context, reserved_for=uuids.server)

        self.end()

        reserved = {each.reserved_for for each in self.get(other).members}
        self.assertIn(uuids.server, reserved)

    def test_member_within_count_is_free_when_its_server_does_not_come(self):
        self.change('m-0', status=Member.HELD, reserved_for=uuids.server)

        statuses = self.end()

        [(path, status)] = statuses.items()
        self.assertEqual('HELD', status)
        self.assertIsNone(self.member(path).reserved_for)

    def test_hold_for_a_server_of_a_former_description_ends_with_it(self):
        former = {'reserved_for': uuids.server, 'server_request': {'old': 1}}
        self.change('m-0', status=Member.HELD, **former)
        for path in ('m-1', 'm-2'):
            self.change(path, status=Member.TENTATIVE)

        ended = self.member('m-0').id

        self.assertEqual(['TENTATIVE'], [*self.end().values()])

        [deleted_draft] = VRTGroup.list_releasing(self.context, self.group)
        self.assertIn(ended, [each.id for each in deleted_draft.members])

    def test_nothing_is_held_for_a_server_of_a_former_description(self):
        self.change('m-1', status=Member.TENTATIVE)
        self.change('m-2', status=Member.TENTATIVE)
        member = self.member('m-0')
        self.assertFalse(settle_group.keeps_no_hold(self.context, member))

        self.change('m-0', server_request={'old': 1})

        member = self.member('m-0')
        self.assertTrue(settle_group.keeps_no_hold(self.context, member))

    def test_nothing_is_held_for_a_member_whose_set_was_dropped(self):
        for path in ('m-1', 'm-2'):
            self.change(path, status=Member.TENTATIVE)
        member = self.member('m-0')
        [dropped] = self.group.member_sets
        db.delete(
            *(self.context, models.MemberSet),
            models.MemberSet.id == dropped.id,
        )

        self.assertTrue(settle_group.keeps_no_hold(self.context, member))

    def test_member_without_a_hold_is_free_when_its_server_is_gone(self):
        for path in ('m-0', 'm-1', 'm-2'):
            self.change(path, status=Member.TENTATIVE)
        self.change('m-0', reserved_for=uuids.server)
        self.assertEqual(
            [self.group.id], settle_group.list_groups(self.context)
        )

        self.assertEqual({'m-0': 'TENTATIVE'}, self.end())

        self.assertIsNone(self.member('m-0').reserved_for)

    def test_members_that_nobody_misses_go(self):
        self.change('m-1', status=Member.TENTATIVE)
        self.change('m-2', status=Member.FAILED)

        self.assertEqual({'m-0': 'ACTIVE'}, self.end())

    def test_described_member_without_a_host_stays(self):
        for path in ('m-0', 'm-1', 'm-2'):
            self.change(path, status=Member.TENTATIVE)

        self.assertEqual({'m-0': 'TENTATIVE'}, self.end())

    def test_released_member_is_not_missing(self):
        self.change('m-0', status=Member.RELEASED)
        self.change('m-1', status=Member.TENTATIVE)
        self.change('m-2', status=Member.TENTATIVE)

        self.assertEqual({'m-0': 'RELEASED'}, self.end())

    def test_member_is_surplus_while_more_than_count_have_a_place(self):
        self.assertTrue(
            settle_group.keeps_no_hold(self.context, self.member('m-0'))
        )
        for path in ('m-1', 'm-2'):
            self.change(path, status=Member.TENTATIVE)
        self.assertFalse(
            settle_group.keeps_no_hold(self.context, self.member('m-0'))
        )

    def test_members_of_a_revision_meanwhile_make_none_surplus(self):
        """The planner has read the member before, with the old count."""
        member = self.member('m-0')
        self.describe(count=3)

        self.assertFalse(settle_group.keeps_no_hold(self.context, member))

    def test_members_of_another_set_make_none_surplus(self):
        for path in ('m-1', 'm-2'):
            self.change(path, member_set='other')

        self.assertFalse(
            settle_group.keeps_no_hold(self.context, self.member('m-0'))
        )

    def test_groups_that_may_have_surplus_members_are_listed(self):
        def listed():
            return settle_group.list_groups(self.context) == [self.group.id]

        self.assertFalse(listed())
        self.change('m-1', reserved_for=uuids.server)
        self.assertTrue(listed())
        self.change('m-1', reserved_for=None, status=Member.TENTATIVE)
        self.assertTrue(listed())
        self.end()
        self.assertFalse(listed())

    def add_successor(self, path, succeeds, **values):
        described = self.get(self.group).member_sets[0]
        row = groups.member(paths.successor(path, uuids.new), described)
        row.succeeds = succeeds
        row = row.to_row()
        row.group_id = self.group.id
        values = {
            'status': Member.ACTIVE,
            'server_uuid': uuids.new,
            **values,
        }
        for name, value in values.items():
            setattr(row, name, value)
        db.create_all(self.context, [row])
        return row.path

    def servers(self):
        return {
            each.path: each.server_uuid
            for each in self.get(self.group).members
        }

    def test_successor_follows_the_member_that_it_names(self):
        self.end()
        path = self.add_successor('m-0', 'm-0')
        self.assertEqual(
            [self.group.id], settle_group.list_groups(self.context)
        )
        self.end()
        self.assertEqual({'m-0': None, path: uuids.new}, self.servers())

        self.change('m-0', status=Member.TENTATIVE)
        self.end()

        self.assertEqual({'m-0': uuids.new}, self.servers())
        self.assertFalse(self.member('m-0').is_successor)

    def test_path_that_a_successor_is_stored_with_is_no_name(self):
        path = self.add_successor('m-0', 'm-0')

        self.assertRaises(
            exception.MemberNotFound,
            *(VRTMember.list_by_path, self.context, self.group.uuid, path),
            project_id=self.group.project_id,
        )

    def test_plan_knows_a_successor_by_its_new_name(self):
        path = self.add_successor('m', 'm')
        placements = {
            each: groups.placement(each, 1) for each in ('m-0', path)
        }
        VRTPlan(
            group_id=self.group.id,
            uuid=uuids.plan,
            status=VRTPlan.PLACED,
            placements=placements,
            answer={},
            is_outdated=False,
        ).create(self.context)

        self.change('m-0', status=Member.TENTATIVE)
        self.end()

        plan = VRTPlan.find_newest(self.context, self.group.id)
        self.assertEqual(path, plan.placements['m-0'].node)

    def test_successor_without_a_server_ends(self):
        self.add_successor('m-0', 'm-0', status=Member.TENTATIVE)

        self.assertEqual({'m-0': 'ACTIVE'}, self.end())

    def test_nothing_is_held_beside_a_successor(self):
        self.end()
        self.assertFalse(
            settle_group.keeps_no_hold(self.context, self.member('m-0'))
        )
        path = self.add_successor('m-0', 'm-0')

        for each in ('m-0', path):
            self.assertTrue(
                settle_group.keeps_no_hold(self.context, self.member(each))
            )

    def test_successor_of_another_server_takes_no_hold_away(self):
        self.change('m-1', status=Member.ACTIVE)
        self.change('m-2', status=Member.TENTATIVE)
        self.describe(count=2)
        self.add_successor('m-0', 'm-0')

        self.assertFalse(
            settle_group.keeps_no_hold(self.context, self.member('m-1'))
        )

    def test_successor_that_has_ended_meanwhile_may_be_asked_about(self):
        ended = self.member(self.add_successor('m-0', 'm-0'))
        self.change('m-2', status=Member.ACTIVE, succeeds='m-0')
        ended.update_row(self.context, status=Member.FAILED)

        self.assertTrue(settle_group.keeps_no_hold(self.context, ended))

    def describe(self, **counts):
        self.group.member_sets[0].update_row(self.context, description=counts)

    def test_member_that_is_missing_is_described(self):
        self.end()
        self.describe(count=2, max_count=self.MAX_COUNT)

        self.assertEqual({'m-0': 'ACTIVE', 'm-1': 'TENTATIVE'}, self.end())

    def test_group_that_is_settled_stays_unchanged(self):
        self.add_successor('m-0', 'm-0')
        self.end()
        before = self.get(self.group)

        self.end()

        now = self.get(self.group)
        self.assertEqual(
            (before.generation, before.updated_at),
            (now.generation, now.updated_at),
        )

    def test_set_that_was_left_out_goes_with_its_last_server(self):
        self.group.member_sets[0].update_row(self.context, is_left_out=True)

        self.assertEqual({'m-0': 'ACTIVE'}, self.end())
        self.assertEqual(['m'], self.sets())
        self.change('m-0', status=Member.TENTATIVE)

        self.assertEqual({}, self.end())
        self.assertEqual([], self.sets())

    def sets(self):
        return [each.path for each in self.get(self.group).member_sets]

    def test_members_stay_while_a_revision_is_planned(self):
        draft = groups.equal_members(1)
        drafts.store(self.context, self.get(self.group), draft)

        self.assertEqual(3, len(self.end()))

    def test_members_stay_while_a_planner_changes_holds(self):
        VRTHold.update_rows(
            self.context,
            models.Hold.member_id == self.member('m-2').id,
            status=states.Hold.EXCHANGING,
        )

        self.assertEqual(3, len(self.end()))
