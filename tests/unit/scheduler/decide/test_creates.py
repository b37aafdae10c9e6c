# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/decide/creates.py``."""

import fixtures
from oslo_utils.fixture import uuidsentinel as uuids
import testtools

from nova_groupext import exception
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import renames
from nova_groupext.objects import states
from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.member_set import kind_of
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.decide import creates
from tests import groups
from tests.unit.scheduler import base


class TestPlaceOpen(base.ProtocolTestCase):
    """Two servers wait for members without hosts."""

    def setUp(self):
        super().setUp()
        self.uuid, _provider = self.held(members=2)
        VRTHold.update_rows(
            self.context,
            models.Hold.status == states.Hold.HELD,
            status=states.Hold.RELEASED,
        )
        VRTMember.update_rows(
            self.context,
            models.Member.status == states.Member.HELD,
            status=states.Member.TENTATIVE,
        )
        for path, server in (('m-0', uuids.one), ('m-1', uuids.two)):
            self.deployment.start_create(self.uuid, path, server)
        # Paths that each draft places
        self.drafts = []

    def place(self, status=states.Group.REFUSED, **changes):
        """Place the members; all drafts get the same status.

        :param changes: of the creates, while the first draft is decided
        """

        def refuse(_group, _lease, draft):
            self.drafts.append(sorted(draft.excluded_nodes))
            if status != states.Group.PLANNING:
                draft.change(self.context, status, fault='full')
            if changes:
                VRTCreate.update_rows(self.context, **changes)

        self.place_by(refuse)

    def place_by(self, decide):
        lease = self.acquire_lease(self.uuid)
        creates.place_open(
            *(self.context, self.deployment.placement_client()),
            *(lease, self.deployment.group(self.uuid)),
            decide,
        )
        lease.release(self.context)

    def test_creates_that_are_refused_together_are_placed_one_by_one(self):
        self.place()

        self.assertEqual([['m-0', 'm-1'], ['m-0'], ['m-1']], self.drafts)

    def test_refusal_names_a_change_that_leaves_no_server_out(self):
        fewer = {'min_counts': {'m': 1}}
        answer = {
            'reason': {'text': 'full'},
            'relaxations': [
                {'change': change, 'text': text}
                for change, text in (
                    (fewer, '1 of 2'),
                    ({'together': [{'at': 'm'}, fewer]}, '1 of 2 elsewhere'),
                    ({'at': 'm', 'policies': []}, 'without its policies'),
                )
            ],
        }

        def refuse(_group, _lease, draft):
            VRTPlan(
                group_id=draft.id,
                status='refused',
                answer=answer,
                placements={},
            ).create(self.context)
            draft.change(self.context, states.Group.REFUSED, fault='full')

        self.place_by(refuse)

        self.assertEqual(
            ['full; without its policies'] * 2,
            [each.fault for each in VRTCreate.list_rows(self.context)],
        )

    def statuses(self):
        return [each.status for each in VRTCreate.list_rows(self.context)]

    def test_create_without_a_plan_is_refused(self):
        self.place()

        self.assertEqual([states.Create.REFUSED] * 2, self.statuses())

    def test_refusal_is_of_the_group_as_it_was_decided(self):
        """Members that are released meanwhile may leave room for a plan."""

        def refuse(group, _lease, draft):
            draft.change(self.context, states.Group.REFUSED, fault='full')
            VRTGroup.update_rows(
                self.context,
                models.Group.id == group.id,
                generation=models.Group.generation + 1,
            )

        self.place_by(refuse)

        generation = self.deployment.group(self.uuid).generation
        for each in VRTCreate.list_rows(self.context):
            self.assertLess(each.generation, generation)

    def test_create_that_was_not_decided_is_no_refusal(self):
        """A refusal would be remembered."""
        self.place(states.Group.UNDECIDED)

        self.assertEqual([states.Create.FAILED] * 2, self.statuses())

    def test_create_of_a_group_that_was_changed_meanwhile_stays_open(self):
        self.place(states.Group.PLANNING)

        self.assertEqual([states.Create.OPEN] * 2, self.statuses())
        group = self.deployment.group(self.uuid)
        [draft] = VRTGroup.list_releasing(self.context, group)
        self.assertTrue(draft.is_for_creates)

    def test_create_that_the_definition_does_not_allow_fails_at_once(self):
        self.deployment.start_create(self.uuid, 'x', uuids.three)

        self.place()

        [fault] = [
            each.fault
            for each in VRTCreate.list_rows(self.context)
            if each.hint == 'x'
        ]
        self.assertEqual(
            'Member x could not be redeemed: the group has no such member',
            fault,
        )

    def test_create_for_a_member_that_was_released_fails_at_once(self):
        VRTMember.update_rows(
            self.context,
            models.Member.path == 'm-1',
            status=states.Member.RELEASED,
        )

        self.place()

        faults = {
            each.hint: each.fault for each in VRTCreate.list_rows(self.context)
        }
        self.assertIn(
            creates.OBSTACLES[creates.Obstacle.RELEASED], faults['m-1']
        )
        self.assertEqual([['m-0']], self.drafts)

    def test_create_beside_an_older_one_for_its_member_is_decided_later(self):
        """The older one is refused, perhaps."""
        self.deployment.start_create(self.uuid, 'm-1', uuids.three)

        self.place()

        self.assertEqual([['m-0', 'm-1'], ['m-0'], ['m-1']], self.drafts)
        self.assertEqual(
            [states.Create.REFUSED] * 2 + [states.Create.OPEN], self.statuses()
        )
        self.place()
        self.assertEqual(['m-1'], self.drafts[-1])

    def test_member_of_a_refused_create_keeps_its_name(self):
        VRTCreate.update_rows(
            self.context, models.Create.hint == 'm-0', hint='m-7'
        )

        self.place()

        self.assertEqual([['m-1', 'm-7'], ['m-7'], ['m-1']], self.drafts)
        self.assertEqual(
            ['m-0', 'm-1'],
            [each.path for each in self.deployment.group(self.uuid).members],
        )

    def test_create_whose_name_is_not_free_yet_stays_open(self):
        """Others are decided nevertheless."""
        VRTMember.update_rows(
            self.context,
            models.Member.path == 'm-0',
            status=states.Member.HELD,
        )
        VRTCreate.update_rows(
            self.context, models.Create.hint == 'm-0', hint='m-7'
        )
        self.useFixture(
            fixtures.MockPatchObject(
                renames,
                'rename',
                side_effect=exception.GenerationConflict(group=self.uuid),
            )
        )

        self.place()

        self.assertEqual([['m-1']], self.drafts)
        self.assertEqual(
            [states.Create.OPEN, states.Create.REFUSED], self.statuses()
        )

    def test_creates_whose_time_is_over_are_not_placed_any_more(self):
        self.place(ends_at=clock.now(-1))

        self.assertEqual([['m-0', 'm-1']], self.drafts)


class TestChoose(testtools.TestCase):
    """Creates of two kinds of servers, decided together."""

    SMALL, BIG = {'flavor_id': 'small'}, {'flavor_id': 'big'}

    def setUp(self):
        super().setUp()
        self.group = groups.unstored(
            **groups.members_of(
                groups.member_set('x', self.SMALL, count=1, max_count=4),
                groups.member_set('y', self.BIG, count=1, max_count=4),
            ),
            has_expired=False,
            id=1,
        )
        for number, member in enumerate(self.group.members):
            member.id = number
            member.status = states.Member.ACTIVE
            member.server_uuid = f'server {number}'
            member.reserved_for = member.server_request = None

    def choose(self, *requests):
        """Return the paths that creates for the group get, oldest first."""
        waiting = [
            VRTCreate(
                id=number,
                hint='',
                kinds={'x': kind_of(request), 'y': kind_of(request)},
                server_uuids=[f'new {number}'],
            )
            for number, request in enumerate(requests)
        ]
        return [
            choice.member.path
            for chosen in creates._choose(None, self.group, waiting)
            for choice in chosen.choices.values()
        ]

    def test_each_server_gets_a_member_of_its_kind(self):
        self.assertEqual(['x-1', 'y-1'], self.choose(self.SMALL, self.BIG))
        self.assertEqual(['y-1', 'x-1'], self.choose(self.BIG, self.SMALL))
        self.assertEqual(['y-1', 'y-2'], self.choose(self.BIG, self.BIG))

    def test_servers_of_a_former_description_are_alike_for_each_create(self):
        """x was small before; a server of then runs, and others may come."""
        self.group.member_sets[0].resolved_request = {'flavor_id': 'medium'}
        self.group.members[0].server_request = self.SMALL

        self.assertEqual(['x-1', 'x-2'], self.choose(self.SMALL, self.SMALL))
        self.assertEqual(['x-1', 'y-1'], self.choose(self.SMALL, self.BIG))
