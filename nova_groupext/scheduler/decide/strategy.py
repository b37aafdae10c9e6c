# SPDX-License-Identifier: Apache-2.0
"""Values that a decision works on: its order, its tools, its situation."""

from collections.abc import Callable
import dataclasses
import random
import time
import typing

from nova import context as nova_context

from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.lease import VRTLease
from nova_groupext.scheduler.current import current_holds
from nova_groupext.scheduler.current.locations import MemberLocations
from nova_groupext.scheduler.decide import deadlines
from nova_groupext.scheduler.decide import rehearsal
from nova_groupext.scheduler.decide import resize_needs
from nova_groupext.scheduler.decide import solver_process
from nova_groupext.scheduler.look import kept_reading
from nova_groupext.scheduler.look import look
from nova_groupext.scheduler.look import snapshot
from nova_groupext.scheduler.placement import client
from nova_groupext.solver.model import problems

# Seconds by which the longest pause grows with each attempt.
PAUSE = 0.5


@dataclasses.dataclass(frozen=True)
class Work:
    """One group, or one draft, that a planner decides.

    :ivar group: VRTGroup that is PLANNING: a group, or a draft
    :ivar revised: VRTGroup that the draft revises; None for a first plan
    :ivar lease: VRTLease that keeps other planners off the group
    :ivar to_place: paths of the members that a draft places for creates; None
        for other drafts
    """

    context: nova_context.RequestContext
    group: VRTGroup
    lease: VRTLease
    deadline: deadlines.Deadline
    revised: VRTGroup | None = None
    to_place: frozenset | None = None

    @property
    def is_replacement(self):
        """True if a planner, not the tenant, has made the draft."""
        return not self.group.is_requested


def _pause(attempt):
    """Wait before an attempt: a concurrent planner may retry, too."""
    if attempt:
        time.sleep(random.uniform(0, PAUSE * attempt))  # noqa: S311


@dataclasses.dataclass(frozen=True)
class Tools:
    """The cloud, the solver and the clock; tests hand in their own.

    :ivar look: as look.look()
    :ivar solve: function of a problems.Problem that returns an answers.Answer
    :ivar rehearse: as rehearsal.rehearse()
    :ivar pause: called with the number of each attempt
    :ivar kept: KeptReading of the planner; None where none is kept
    :ivar may_be_old: whether looks may start from that
    """

    placement_client: client.PlacementClient
    look: Callable = look.look
    solve: Callable = solver_process.solve
    rehearse: Callable = rehearsal.rehearse
    pause: Callable = _pause
    kept: kept_reading.KeptReading | None = None
    may_be_old: bool = False

    def look_for(self, work, excluded, *current):
        """Return the snapshot.Snapshot of one attempt.

        :param excluded: (class name, host id) pairs
        :param current: CurrentHolds of the group, if it has any
        """
        return self.look(
            *(work.context, work.group, self.placement_client),
            *(excluded, *current),
            check_deadline=work.deadline.check,
            kept=self.kept,
            may_be_old=self.may_be_old,
        )


@dataclasses.dataclass(frozen=True)
class Situation:
    """The cloud and the group's own part of it, as one attempt read them.

    :ivar group: VRTGroup that is planned; the revised one of a draft
    :ivar current: holds and servers that the group has
    :ivar needs: comparison of these with what the draft describes
    :ivar locations: MemberLocations; None for a first plan
    :ivar to_replace: paths of the members that a replacement is for
    """

    group: VRTGroup
    snapshot: snapshot.Snapshot
    current: current_holds.CurrentHolds = current_holds.NO_HOLDS
    needs: resize_needs.ResizeNeeds = resize_needs.NO_NEEDS
    locations: MemberLocations | None = None
    to_replace: frozenset = frozenset()


class Question(typing.NamedTuple):
    """One problem for the solver.

    :ivar suffices: function of an answer: whether no further question is asked
    """

    problem: problems.Problem
    suffices: Callable = lambda answer: True


def _none(*_args):
    """Keep no answer, and reject no plan."""


@dataclasses.dataclass(frozen=True)
class Strategy:
    """Differences between a first plan and a revision; see decide.decide().

    :ivar begin: function of Work that returns whether there is something to do
    :ivar look: function of (Work, Tools, excluded pairs) that returns the
        Situation
    :ivar questions: function of (Work, Situation) that returns Questions in
        their order
    :ivar commit: function of (Work, Tools, Situation, Decision) that returns
        False when a concurrent change prevented it
    :ivar kept_answer: function of (Work, Situation) that returns an answer
        that makes questions unneeded, or None
    :ivar reject: function of (Work, Situation, Decision) that returns a
        decisions.Rejection, or None if the plan is acceptable
    :ivar undecided: errors of these that leave the group undecided
    """

    begin: Callable
    look: Callable
    questions: Callable
    commit: Callable
    kept_answer: Callable = _none
    reject: Callable = _none
    undecided: tuple = ()
