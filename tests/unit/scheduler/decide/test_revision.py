# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/decide/revision.py``."""

import dataclasses

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects.move import VRTMove
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.decide import deadlines
from nova_groupext.scheduler.decide import decisions
from nova_groupext.scheduler.decide import replacement
from nova_groupext.scheduler.decide import revision
from nova_groupext.scheduler.decide import strategy
from nova_groupext.solver.model import answers
from tests.services import doubles
from tests.unit.scheduler import base


class RevisionTestCase(base.ProtocolTestCase):
    """Two members on two hosts, each with capacity for both."""

    def setUp(self):
        super().setUp()
        self.first, self.second = (
            self.deployment.make_provider(2) for _each in range(2)
        )
        self.uuid = self.deployment.hold_group([self.first, self.second])
        self.old = {'m-0': self.first, 'm-1': self.second}
        self.new = {'m-0': self.second, 'm-1': self.first}

    def work(self, draft, **values):
        """Return the strategy.Work on a draft."""
        if values:
            db.compare_and_set(
                self.context,
                models.Group,
                models.Group.uuid == draft,
                **values,
            )
        lease = self.acquire_lease(self.uuid)
        return strategy.Work(
            *(self.context, self.deployment.group(draft), lease),
            deadlines.Deadline(self.context, lease, 60),
            self.deployment.group(self.uuid),
        )

    def look(self, work):
        tools = doubles.FixedPlan()(self.deployment.placement_client())
        return revision.STRATEGY.look(work, tools, set())


class TestQuestions(RevisionTestCase):
    """The holds that each question leaves on their hosts."""

    def questions(self, work):
        return [*revision.STRATEGY.questions(work, self.look(work))]

    def pinned(self, work):
        return [each.problem.pinned for each in self.questions(work)]

    def test_plan_that_moves_nothing_is_looked_for_first(self):
        work = self.work(self.deployment.revise(self.uuid, self.old))

        self.assertEqual([self.old, {}], self.pinned(work))

    def test_plan_that_moves_nothing_suffices_if_it_is_perfect(self):
        work = self.work(self.deployment.revise(self.uuid, self.old))
        [unmoved, _free] = self.questions(work)
        perfect = answers.Answer('placed', cost={'soft': 0.0})

        self.assertTrue(unmoved.suffices(perfect))
        for answer in (
            answers.Answer('refused'),
            dataclasses.replace(perfect, cost={'soft': 1.0}),
            dataclasses.replace(perfect, unplaced=['m-0']),
        ):
            self.assertFalse(unmoved.suffices(answer))

    def test_only_movable_members_move(self):
        work = self.work(
            self.deployment.revise(self.uuid, self.old),
            movable_paths=['m-0'],
        )

        self.assertEqual([{'m-1': self.second}], self.pinned(work))

    def test_replacement_moves_others_only_without_another_plan(self):
        work = self.replace()

        self.assertEqual([{'m-1': self.second}, {}], self.pinned(work))

    def test_replacement_keeps_holds_whatever_that_costs(self):
        for question in self.questions(self.replace()):
            self.assertTrue(question.problem.keeps_current)

    def test_revision_of_the_tenant_prefers_the_least_cost(self):
        work = self.work(self.deployment.revise(self.uuid, self.old))

        for question in self.questions(work):
            self.assertFalse(question.problem.keeps_current)

    def replace(self):
        """Return the work on a replacement of the first member."""
        draft = replacement.start(
            self.context,
            self.deployment.group(self.uuid),
            {'m-0': [self.first]},
        )
        return self.work(draft.uuid)

    def test_replacement_is_not_for_released_members(self):
        self.deployment.request_release(self.uuid, 'm-1')

        [question, *_others] = self.questions(self.replace())

        self.assertEqual({'m-0'}, {*question.problem.class_of})


class TestBegin(RevisionTestCase):
    def test_replacement_that_is_not_needed_any_more_is_deleted(self):
        draft = replacement.start(
            self.context,
            self.deployment.group(self.uuid),
            {'m-0': ['elsewhere']},
        )
        work = self.work(draft.uuid)

        self.assertFalse(revision.STRATEGY.begin(work))

        self.assertEqual('RELEASING', self.deployment.group(draft.uuid).status)

    def test_revision_is_always_decided(self):
        work = self.work(self.deployment.revise(self.uuid, self.new))

        self.assertTrue(revision.STRATEGY.begin(work))


class TestUndecided(RevisionTestCase):
    """Revisions that are impossible now; the group stays as it is."""

    def plan(self, draft):
        """Plan a draft; return its fault."""
        self.deployment.plan(draft)
        draft = self.deployment.group(draft)
        self.assertEqual('UNDECIDED', draft.status)
        return draft.fault

    def test_released_group_cannot_be_revised(self):
        draft = self.deployment.revise(self.uuid, self.new)
        self.deployment.request_release(self.uuid)

        self.assertIn('RELEASED', self.plan(draft))

    def test_member_that_has_got_its_server_meanwhile_is_not_left_out(self):
        draft = self.deployment.revise(self.uuid, {'m-0': self.first})
        self.deployment.redeem(self.uuid, 'm-1')

        self.assertIn('m-1 is ACTIVE: its server was', self.plan(draft))

    def test_server_that_is_not_on_its_host_is_not_adopted(self):
        server = self.deployment.fill(self.first)
        draft = self.deployment.revise(
            self.uuid,
            {**self.old, 'm-2': self.first},
            adopts=[('m-2', server)],
        )

        self.assertIn(server, self.plan(draft))

        self.assertEqual(self.old, self.deployment.held_providers(self.uuid))


class TestReject(RevisionTestCase):
    """The draft adds anti-affinity, and the first server is moving."""

    def reject(self, new):
        """Return what is rejected of a plan; a server moves to the second."""
        work = self.work(self.deployment.revise(self.uuid, new, [base.APART]))
        situation = self.look(work)
        answer = answers.Answer('placed', placement=new, cost={'soft': 0.0})
        decision = decisions.store(work, situation, answer)
        return revision.STRATEGY.reject(work, situation, decision)

    def test_plan_without_moves_is_accepted(self):
        self.assertIsNone(self.reject(self.new))

    def test_new_host_that_is_the_target_of_a_move_is_rejected(self):
        third = self.deployment.make_provider(1)
        group = self.deployment.group(self.uuid)
        server = self.deployment.redeem(self.uuid, 'm-0')
        VRTMove(
            group_id=group.id,
            member_id=group.members[0].id,
            server_uuid=server,
            host=third,
            node=third,
        ).create(self.context)

        rejection = self.reject({'m-0': self.first, 'm-1': third})

        self.assertEqual({('m-1', third)}, rejection.pairs)
        self.assertIn('m-0', rejection.reason)


class TestPlan(RevisionTestCase):
    def test_plan_of_the_draft_becomes_the_groups(self):
        draft = self.deployment.revise(self.uuid, self.new)

        self.deployment.plan(draft)

        group = self.deployment.group(self.uuid)
        plan = VRTPlan.find_newest(self.context, group.id)
        self.assertEqual(self.new, plan.nodes())
        self.assertIsNone(self.deployment.find_group(draft))
        self.assert_at_rest()
