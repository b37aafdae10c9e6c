# SPDX-License-Identifier: Apache-2.0
"""Revision of a group: its draft is decided around its holds and servers.

The group stays unchanged until the draft is committed, and for good if no plan
is found. A replacement is the revision that a planner makes itself: its draft
names excluded hosts.
"""

import dataclasses

from nova_groupext import exception
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.adopt import adoption
from nova_groupext.scheduler.current import current_holds
from nova_groupext.scheduler.current import locations
from nova_groupext.scheduler.decide import commit_revision
from nova_groupext.scheduler.decide import decisions
from nova_groupext.scheduler.decide import end_states
from nova_groupext.scheduler.decide import replacement
from nova_groupext.scheduler.decide import resize_needs
from nova_groupext.scheduler.decide import results
from nova_groupext.scheduler.decide import revision_problem
from nova_groupext.scheduler.decide import strategy
from nova_groupext.solver.model import subproblem


def _begin(work):
    """Delete the draft of a replacement if no member needs it any more."""
    if not work.is_replacement or _to_replace(work, work.revised):
        return True
    work.group.mark_deleted(work.context)
    return False


def _look(work, tools, excluded):
    """Read the group, its servers and the cloud.

    :raises: GroupStateConflict, MemberStateConflict, ServerConflict when
        something of these cannot be revised now
    """
    context = work.context
    group = VRTGroup.get(context, work.revised.uuid)
    adopted = adoption.locate(
        context, tools.placement_client, group, work.group
    )
    if group.status not in _statuses(work, adopted):
        raise group.conflict('replan it or create a new group')
    if not work.is_replacement:
        _check_dropped(work.group, group)
    present = locations.read(context, group)
    current = current_holds.CurrentHolds.read(context, group, adopted)
    snapshot = tools.look_for(work, excluded, current)
    return strategy.Situation(
        group=group,
        snapshot=snapshot,
        current=current,
        locations=present,
        needs=resize_needs.find_resize_needs(
            *(context, tools.placement_client, group, work.group),
            *(current, snapshot),
            is_replacement=work.is_replacement,
        ),
        to_replace=_to_replace(work, group),
    )


def _check_dropped(draft, group):
    """Refuse to leave out a member that has got its server meanwhile.

    :raises: MemberStateConflict
    """
    drafted = {member.path for member in draft.members}
    for member in group.members:
        has_server = member.status in states.MEMBER_HAS_SERVER
        if has_server and member.path not in drafted and not draft.keep_server:
            raise exception.MemberStateConflict(
                member=member.path,
                status=member.status,
                reason='its server was created after the revision was sent; '
                'send it again',
            )


def _statuses(work, adopted):
    """Return the statuses in which the group can be revised."""
    if work.is_replacement:
        return states.GROUP_REPLACEABLE
    # A group without holds may be held around servers that it adopts.
    if adopted:
        return (*states.GROUP_WITH_HOLDS, *states.GROUP_WITHOUT_HOLDS)
    return states.GROUP_WITH_HOLDS


def _to_replace(work, group):
    """Return the paths of the members that a planner's draft is for."""
    if work.to_place is not None:
        return work.to_place
    return replacement.members_to_replace(
        work.context, group, work.group.excluded_nodes or {}
    )


def _questions(work, situation):
    """Yield questions that move fewer holds first.

    A replacement keeps all other holds on their hosts if any plan allows that,
    else as many as possible. If the tenant has named the members that may
    move, all others stay in any case. Else all holds stay if no other plan can
    be better.
    """
    unchanged = {
        path: hold
        for path, hold in situation.needs.unchanged.items()
        if hold.node in situation.snapshot.hosts
    }
    movable = work.group.movable_paths
    if work.is_replacement:
        unchanged = _without(unchanged, situation.to_replace)
        yield strategy.Question(
            _problem(work, situation, unchanged), _is_placed
        )
        if unchanged:
            yield strategy.Question(_problem(work, situation, {}))
    elif movable is not None:
        unchanged = _without(unchanged, movable)
        yield strategy.Question(_problem(work, situation, unchanged))
    else:
        if unchanged:
            problem = _problem(work, situation, unchanged)
            yield strategy.Question(problem, _is_perfect)
        yield strategy.Question(_problem(work, situation, {}))


def _problem(work, situation, unchanged):
    """Return the problem with some holds fixed to their hosts."""
    needs = situation.needs
    # Shelved members get no host until they return.
    without_host = (
        situation.current.shelved.keys()
        - needs.unchanged.keys()
        - situation.to_replace
    )
    problem = revision_problem.pin(
        situation.snapshot.problem, unchanged, needs.resizing
    )
    problem = revision_problem.build(problem, needs.resizing, without_host)
    if not work.is_replacement:
        return problem
    due = {
        *situation.current.servers,
        *situation.current.held,
        *needs.unchanged,
    }
    return dataclasses.replace(
        subproblem.require_only(problem, due | situation.to_replace),
        keeps_current=True,
    )


def _is_placed(answer):
    return answer.status == VRTPlan.PLACED


def _is_perfect(answer):
    """Check whether no plan that moves holds can be better."""
    return (
        _is_placed(answer) and not answer.unplaced and not answer.cost['soft']
    )


def _without(holds, paths):
    return {path: hold for path, hold in holds.items() if path not in paths}


def _reject(work, situation, decision):
    """Reject assignments that violate policies after some resize or move.

    :raises: MemberStateConflict when moves alone violate a policy
    """
    end_check = end_states.EndStates(
        *(work.context, work.group, decision.plan.placements),
        *(decision.resizes, situation.locations),
    )
    coming = {path: each.node for path, each in decision.arriving.items()}
    rejected = end_check.rejected_members(coming)
    if not rejected:
        end_check.check()
        return None
    reason = results.NO_SUCCESS
    if end_check.moving:
        reason = end_states.conflict(end_check.moving).format_message()
    class_of = situation.snapshot.class_of
    pairs = {(class_of[path], coming[path]) for path in rejected}
    return decisions.Rejection(pairs, reason)


#: Strategy for a draft that is PLANNING.
STRATEGY = strategy.Strategy(
    begin=_begin,
    look=_look,
    questions=_questions,
    commit=commit_revision.commit,
    reject=_reject,
    undecided=(
        exception.GroupStateConflict,
        exception.MemberStateConflict,
        exception.ServerConflict,
    ),
)
