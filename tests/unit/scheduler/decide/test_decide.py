# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/decide/decide.py``."""

import dataclasses

import fixtures

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.decide import decide
from nova_groupext.scheduler.look import kept_reading
from nova_groupext.scheduler.look import reading_gaps
from nova_groupext.solver.model import answers
from tests import groups
from tests.services import doubles
from tests.unit.scheduler import base

REFUSED = answers.Answer('refused', reason={'code': 'vrt.capacity'})


class DecideTestCase(base.ProtocolTestCase):
    """Decisions about one group of one member.

    :ivar calls: names of the tools in the order of their calls
    """

    def setUp(self):
        super().setUp()
        CONF.set_override('planning_attempts', 3, 'vrt')
        self.addCleanup(CONF.clear_override, 'planning_attempts', 'vrt')
        self.provider = self.deployment.make_provider(1)
        self.calls = []

    def decide(self, uuid=None, kept=None, **tools):
        """Decide a group, by default a new one; returns the group.

        :param kept: KeptReading of the planner
        :param tools: functions of a tool's usual result and arguments, which
            replace this tool
        """
        uuid = uuid or self.deployment.describe([self.provider])
        fixed = doubles.FixedPlan()

        def make(placement_client):
            usual = fixed(placement_client)
            own = {
                name: self.note(
                    name, getattr(usual, name), tools.get(name, first)
                )
                for name in ('look', 'solve', 'rehearse')
            }
            return dataclasses.replace(
                usual, pause=lambda _attempt: None, **own
            )

        other = planner.Planner('planner', make)
        other._report_client = self.deployment.client()
        other.kept = kept or other.kept
        other.serve_group(self.context, uuid)
        return self.deployment.group(uuid)

    def note(self, name, tool, change):
        def call(*args, **kwargs):
            self.calls.append(name)
            return change(tool(*args, **kwargs), *args, **kwargs)

        return call

    def assert_undecided(self, group, reason):
        self.assertEqual('UNDECIDED', group.status)
        self.assertIn(reason, group.fault)
        self.assertEqual([], self.holds(group.uuid))

    def decide_with_plan(self, placements):
        """Decide a group that has a plan; returns the group."""
        uuid = self.deployment.describe([self.provider])
        VRTPlan(
            group_id=self.deployment.group(uuid).id,
            status=VRTPlan.PLACED,
            placements=placements,
            answer={'cost': {'soft': 0.0}},
        ).create(self.context)
        return self.decide(uuid)


class TestDecide(DecideTestCase):
    def test_steps_have_their_order(self):
        group = self.decide()

        self.assertEqual('HELD', group.status)
        self.assertEqual(['look', 'solve', 'rehearse'], self.calls)
        self.assertEqual(2, self.used(self.provider))

    def test_refused_problem_refuses_the_group(self):
        group = self.decide(solve=lambda *_args: REFUSED)

        self.assertEqual(('REFUSED', None), (group.status, group.fault))
        self.assertEqual(['look', 'solve'], self.calls)
        self.assertEqual(0, self.used(self.provider))

    def test_refusal_of_an_incomplete_snapshot_is_undecided(self):
        def miss(snapshot, *_args, **_kwargs):
            snapshot.gaps.find = lambda: ['a cell was silent']
            return snapshot

        group = self.decide(look=miss, solve=lambda *_args: REFUSED)

        self.assert_undecided(group, 'a cell was silent')

    def test_refusal_without_excluded_nodes_is_undecided(self):
        """The filters refuse the only host; without it there is no plan."""
        group = self.decide(rehearse=refuse_all)

        self.assert_undecided(group, "Nova's filters")
        self.assertEqual(
            ['look', 'solve', 'rehearse', 'look', 'solve'], self.calls
        )

    def test_capacity_that_appeared_is_looked_at_again(self):
        def grow(snapshot, *_args, **_kwargs):
            gaps = [reading_gaps.FREED_LATER] if len(self.calls) == 1 else []
            snapshot.gaps.find = lambda: gaps
            return snapshot

        def solve(answer, problem):
            return REFUSED if self.calls.count('solve') == 1 else answer

        group = self.decide(look=grow, solve=solve)

        self.assertEqual('HELD', group.status)
        self.assertEqual(2, self.calls.count('look'))

    def test_time_limit_leaves_the_group_undecided(self):
        def be_late(*_args):
            raise exception.OutOfTime(seconds='60')

        group = self.decide(rehearse=be_late)

        self.assert_undecided(group, '60 seconds')

    def test_valid_plan_is_kept_when_its_capacity_was_taken(self):
        def take(refused, *_args):
            if self.calls.count('rehearse') == 1:
                self.consumer = self.deployment.fill(self.provider)
            else:
                self.deployment.delete_allocations(self.consumer)
            return refused

        group = self.decide(rehearse=take)

        self.assertEqual('HELD', group.status)
        self.assertEqual(1, self.calls.count('solve'))

    def test_plan_of_other_members_is_not_kept(self):
        group = self.decide_with_plan(
            {'x': groups.placement(self.provider, 2)}
        )

        self.assertEqual('HELD', group.status)
        self.assertEqual(1, self.calls.count('solve'))

    def test_plan_with_other_candidates_is_not_kept(self):
        """Placement does not offer its allocations any more."""
        group = self.decide_with_plan(
            {'m-0': groups.placement(self.provider, 1)}
        )

        self.assertEqual('HELD', group.status)
        self.assertEqual(1, self.calls.count('solve'))
        self.assertEqual(2, self.used(self.provider))

    def test_plan_with_the_same_candidates_is_kept(self):
        group = self.decide_with_plan(
            {'m-0': groups.placement(self.provider, 2)}
        )

        self.assertEqual('HELD', group.status)
        self.assertEqual(0, self.calls.count('solve'))

    def test_answer_is_stored_with_its_plan(self):
        group = self.decide()

        plan = VRTPlan.find_newest(self.context, group.id)
        self.assertEqual({'m-0': self.provider}, plan.nodes())
        self.assertEqual({'soft': 0.0}, {'soft': plan.answer['cost']['soft']})


class TestOldReadings(DecideTestCase):
    """The planner keeps a reading of the cloud.

    :ivar ages: whether each look might start from it
    """

    def setUp(self):
        super().setUp()
        self.ages = []

    def decide(self, uuid=None, **tools):
        kept = kept_reading.KeptReading()
        kept.find = lambda: 'a reading'
        return super().decide(uuid, kept, **{'look': self.age, **tools})

    def age(self, snapshot, *_args, may_be_old, **_kwargs):
        self.ages.append(may_be_old)
        return dataclasses.replace(snapshot, is_old=may_be_old)

    def test_plan_for_all_members_is_held(self):
        group = self.decide()

        self.assertEqual('HELD', group.status)
        self.assertEqual([True], self.ages)

    def test_refusal_is_decided_anew(self):
        group = self.decide(solve=lambda *_args: REFUSED)

        self.assertEqual(('REFUSED', None), (group.status, group.fault))
        self.assertEqual([True, False], self.ages)

    def test_capacity_that_was_freed_is_found(self):
        def solve(answer, _problem):
            return REFUSED if self.ages[-1] else answer

        group = self.decide(solve=solve)

        self.assertEqual('HELD', group.status)
        self.assertEqual([True, False], self.ages)

    def test_members_left_out_are_decided_anew(self):
        def leave_out(answer, _problem):
            if self.ages[-1]:
                return dataclasses.replace(answer, unplaced=['m-1'])
            return answer

        self.decide(solve=leave_out)

        self.assertEqual([True, False], self.ages)

    def test_refusal_without_excluded_hosts_proves_nothing(self):
        """Much has changed, so that the first look was a new one."""

        def exclude(_work, _situation, excluded):
            excluded.add(('m-0', 'the host where it failed'))

        def read_anew(snapshot, *_args, may_be_old, **_kwargs):
            self.ages.append(may_be_old)
            return snapshot

        self.useFixture(
            fixtures.MockPatchObject(decide, '_exclude_hosts', exclude)
        )

        group = self.decide(look=read_anew, solve=lambda *_args: REFUSED)

        self.assert_undecided(group, "Nova's filters")
        self.assertEqual([True], self.ages)

    def test_rejected_plan_is_not_kept_for_the_tenant(self):
        def refuse_once(refused, *args):
            return refuse_all(refused, *args) if self.ages[-1] else refused

        self.decide(rehearse=refuse_once)

        self.assertEqual(2, self.calls.count('solve'))

    def test_what_the_filters_refused_is_read_anew(self):
        """The host is not excluded, as it may be as wanted by then."""

        def refuse_once(refused, *args):
            return refuse_all(refused, *args) if self.ages[-1] else refused

        group = self.decide(rehearse=refuse_once)

        self.assertEqual('HELD', group.status)
        self.assertEqual([True, False], self.ages)

    def test_attempts_are_counted_from_the_second_look(self):
        CONF.set_override('planning_attempts', 1, 'vrt')

        group = self.decide(rehearse=refuse_all)

        self.assert_undecided(group, "Nova's filters")
        self.assertEqual([True, False], self.ages)

    def test_seen_plan_is_compared_with_the_cloud_of_now(self):
        group = self.decide_with_plan(
            {'m-0': groups.placement(self.provider, 2)}
        )

        self.assertEqual('HELD', group.status)
        self.assertEqual([False], self.ages)


def first(result, *_args, **_kwargs):
    return result


def refuse_all(_refused, _context, snapshot, placements, _go_on):
    return {
        (snapshot.class_of[path], each.node)
        for path, each in placements.items()
    }
