# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/decide/decisions.py``."""

import dataclasses
import types

from nova_groupext.objects import states
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.current import current_holds
from nova_groupext.scheduler.current import locations
from nova_groupext.scheduler.decide import decisions
from nova_groupext.scheduler.decide import resize_needs
from nova_groupext.scheduler.decide import strategy
from nova_groupext.solver.model import answers
from tests import groups
from tests.services import deployment
from tests.services import doubles
from tests.unit.scheduler import base


class DecisionTestCase(base.ProtocolTestCase):
    """Two members on two hosts, and a third host."""

    def setUp(self):
        super().setUp()
        self.hosts = [self.deployment.make_provider(2) for _each in range(3)]
        self.first, self.second, self.third = self.hosts
        self.uuid = self.deployment.hold_group([self.first, self.second])
        self.group = self.deployment.group(self.uuid)

    def work(self):
        return strategy.Work(self.context, self.group, None, None)

    def situation(self, wishes, **needs):
        """Return the Situation in a cloud with one host for each member.

        :param wishes: {path: provider}
        """
        current = current_holds.CurrentHolds.read(self.context, self.group)
        tools = doubles.FixedPlan(
            lambda _group, _current: (
                lambda member: groups.placement(
                    wishes[member.path], deployment.MEMBER_VCPUS
                )
            )
        )(None)
        needs = {'unchanged': current.held, 'resizing': {}, **needs}
        return strategy.Situation(
            group=self.group,
            snapshot=tools.look(
                *(self.context, self.group, None, set(), current)
            ),
            current=current,
            needs=dataclasses.replace(resize_needs.NO_NEEDS, **needs),
        )

    def answer(self, placement):
        return answers.Answer(
            'placed', placement=placement, cost={'soft': 0.0}
        )


class TestStore(DecisionTestCase):
    def store(self, wishes, **needs):
        return decisions.store(
            self.work(), self.situation(wishes, **needs), self.answer(wishes)
        )

    def test_only_members_that_move_need_new_holds(self):
        wishes = {'m-0': self.third, 'm-1': self.second}

        decision = self.store(wishes)

        self.assertEqual(['m-0'], [*decision.new])
        self.assertEqual(self.third, decision.new['m-0'].provider)
        self.assertEqual(decision.new, decision.arriving)

    def test_plan_contains_all_members(self):
        wishes = {'m-0': self.third, 'm-1': self.second}

        self.store(wishes)

        plan = VRTPlan.find_newest(self.context, self.group.id)
        self.assertEqual(wishes, plan.nodes())

    def test_server_that_is_resized_stays_until_then(self):
        """Its new host gets a reservation; the plan has its present host."""
        self.deployment.redeem(self.uuid, 'm-0')
        self.group = self.deployment.group(self.uuid)
        wishes = {'m-0': self.third, 'm-1': self.second}

        situation = self.situation(
            {'m-0': self.first, 'm-1': self.second},
            resizing={'m-0': self.first},
        )
        snapshot = situation.snapshot
        snapshot.hosts[self.third] = types.SimpleNamespace(
            host=self.third,
            nodename=self.third,
            uuid=self.third,
            aggregates=[],
        )
        snapshot.classes['m-0'].candidates[self.third] = [
            dataclasses.asdict(
                groups.placement(self.third, deployment.MEMBER_VCPUS)
            )
        ]

        decision = decisions.store(self.work(), situation, self.answer(wishes))

        self.assertEqual({}, decision.new)
        self.assertEqual(self.third, decision.reservations['m-0'].provider)
        self.assertEqual(
            {'m-0': locations.Location(self.third, self.third)},
            decision.resizes,
        )
        self.assertEqual(self.first, decision.plan.nodes()['m-0'])

    def test_shelved_server_gets_a_reservation_and_no_hold(self):
        self.deployment.request_release(self.uuid, 'm-0')
        member = self.deployment.member(self.uuid, 'm-0')
        member.update_row(self.context, status=states.Member.SHELVED)
        self.group = self.deployment.group(self.uuid)
        wishes = {'m-0': self.third, 'm-1': self.second}
        situation = self.situation(wishes)

        decision = decisions.store(self.work(), situation, self.answer(wishes))

        self.assertEqual({}, decision.new)
        self.assertEqual(['m-0'], [*decision.reservations])

    def test_reservation_that_is_not_needed_ends(self):
        self.deployment.redeem(self.uuid, 'm-0')
        row = self.deployment.reserve_resize(self.uuid, self.third)
        self.group = self.deployment.group(self.uuid)

        decision = self.store({'m-0': self.first, 'm-1': self.second})

        self.assertEqual([row.uuid], [each.uuid for each in decision.unneeded])


class TestKeptAnswer(DecisionTestCase):
    """The newest plan, which the tenant has seen."""

    def setUp(self):
        super().setUp()
        self.wishes = {'m-0': self.first, 'm-1': self.second}
        self.plan = VRTPlan.find_newest(self.context, self.group.id)

    def kept(self, wishes=None):
        situation = self.situation(wishes or self.wishes)
        return decisions.kept_answer(self.work(), situation)

    def test_valid_plan_is_kept(self):
        answer = self.kept()

        self.assertEqual(self.wishes, answer.placement)

    def test_plan_whose_host_is_not_offered_any_more_is_not_kept(self):
        self.assertIsNone(self.kept({**self.wishes, 'm-0': self.third}))

    def test_outdated_plan_is_not_kept(self):
        VRTPlan.mark_outdated(self.context, self.group.id)

        self.assertIsNone(self.kept())

    def test_plan_that_violates_a_policy_is_not_kept(self):
        self.group.policies = [
            groups.policy('', {'type': 'affinity', 'scope': 'host'})
        ]

        self.assertIsNone(self.kept())

    def test_answer_without_a_plan_is_not_kept(self):
        decisions.store_answer(self.work(), answers.Answer('refused'), {})

        self.assertIsNone(self.kept())
