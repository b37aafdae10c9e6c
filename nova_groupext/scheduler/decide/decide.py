# SPDX-License-Identifier: Apache-2.0
"""Steps 2 to 4 of a group or a draft: look, decide, rehearse, hold.

A strategy (first_plan, revision) is a value without a loop. It answers what to
look at, which questions to ask the solver, whether a plan is acceptable, how
to commit it, and which errors leave the group undecided. The order is here:

 1. Begin: check that this process has the group's policy types, and that
    there is something to decide; for a first plan, within the quota.
 2. Look at the cloud, and at the group's own holds and servers. The first
    look may start from an old reading; then only a plan for all members
    counts, and only the first question is asked.
 3. Exclude the hosts that members are to leave, and avoid those where
    members failed: they count only if there is no plan without them.
 4. Keep the newest plan of a group without holds while it is valid; else
 5. ask the solver the strategy's questions, until an answer suffices.
 6. Without a plan: if capacity has appeared, start again. Store the answer,
    and conclude as REFUSED if it is a proof, else as UNDECIDED. It is none
    if the look may have missed capacity, or hosts were excluded.
 7. Store the plan.
 8. Let a revision reject assignments that violate policies on the way.
 9. Rehearse the plan with Nova's filters.
10. If nothing is to be held, conclude as PLANNED.
11. Commit the plan: fill holds in Placement, and put them in force.

After a rejection in steps 8, 9 or 11 the next attempt starts with step 2 and
excludes what was rejected, unless the reading was old. When attempts or time
are used up, the group is UNDECIDED.

==========  ===================================  ============================
crash       left behind                          finished by
==========  ===================================  ============================
before 11   PLANNING, perhaps with a plan        the next owner of the lease:
                                                 it decides anew
in 11       as protocol.hold_plan or             the same, after it finished
            protocol.swap says                   what these say
==========  ===================================  ============================
"""

import dataclasses

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.current import definition
from nova_groupext.scheduler.decide import deadlines
from nova_groupext.scheduler.decide import decisions
from nova_groupext.scheduler.decide import results
from nova_groupext.scheduler.look import reading_gaps

LOG = logging.getLogger(__name__)


def decide(work, strategy, tools):
    """Decide a group or a draft, commit the plan, and store the result.

    :param work: strategy.Work
    :param strategy: first_plan.STRATEGY or revision.STRATEGY
    :param tools: strategy.Tools
    :raises: GenerationConflict when the group was changed meanwhile, or
        GroupBusy when another planner has taken it over; nothing is held then
    :raises: LimitExceeded when the tenant's quota is too small
    """
    errors = (
        *(exception.OutOfTime, exception.UnknownPolicyType),
        *strategy.undecided,
    )
    try:
        definition.check_policy_types(work.group)
        if strategy.begin(work):
            _attempt_repeatedly(work, strategy, tools)
    except errors as exc:
        results.conclude(work, states.Group.UNDECIDED, exc.format_message())


def _attempt_repeatedly(work, strategy, tools):
    """Run attempts until one of them concludes.

    The first looks at what the planner keeps of the cloud, if it keeps that.
    """
    if _can_be_decided_early(work, tools):
        early = dataclasses.replace(tools, may_be_old=True)
        if _attempt(work, strategy, early, set()) is None:
            return
        # Else step 4 would keep this plan, which no tenant has seen.
        VRTPlan.mark_outdated(work.context, work.group.id)
    excluded = set()
    reason = results.NO_SUCCESS
    for attempt in range(CONF.vrt.planning_attempts):
        tools.pause(attempt)
        rejection = _attempt(work, strategy, tools, excluded, reason)
        if rejection is None:
            return
        excluded |= rejection.pairs
        reason = rejection.reason or reason
    results.conclude(work, states.Group.UNDECIDED, reason)


def _can_be_decided_early(work, tools):
    """Check whether an old reading of the cloud may do.

    A tenant who has seen a plan gets that plan, unless it is no longer valid.
    """
    return (
        tools.kept is not None
        and tools.kept.find() is not None
        and (
            work.revised is not None
            or VRTPlan.find_newest(work.context, work.group.id) is None
        )
    )


def _attempt(work, strategy, tools, excluded, reason=results.NO_SUCCESS):
    """Run one attempt.

    :param excluded: {(class name, host id)}, which grows
    :param reason: fault text if hosts were excluded and there is no plan
    :returns: decisions.Rejection if another attempt may conclude, else None
    """
    work.deadline.check()
    situation = strategy.look(work, tools, excluded)
    snapshot = situation.snapshot
    _exclude_hosts(work, situation, excluded)
    answer = _find_answer(work, strategy, tools, situation)
    if answer is None:
        return decisions.AGAIN
    if answer.status != VRTPlan.PLACED:
        gaps = _find_gaps(snapshot, answer, excluded)
        if reading_gaps.FREED_LATER in gaps:
            return decisions.AGAIN
        return results.conclude_without_plan(
            *(work, snapshot, answer, gaps),
            reason if excluded else None,
        )
    decision = decisions.store(work, situation, answer)
    rejection = strategy.reject(work, situation, decision)
    if rejection:
        return rejection
    refused = _rehearse(work, tools, snapshot, decision)
    if refused:
        return decisions.Rejection(refused)
    if not work.group.hold_when_planned:
        return results.conclude(work, states.Group.PLANNED)
    if strategy.commit(work, tools, situation, decision):
        return None
    return decisions.AGAIN


def _exclude_hosts(work, situation, excluded):
    """Exclude the hosts that members are to leave.

    :param excluded: {(class name, host id)}, which grows
    """
    snapshot = situation.snapshot
    for path in situation.to_replace:
        for host in work.group.excluded_nodes[path]:
            excluded |= snapshot.exclude(path, host)


def _find_answer(work, strategy, tools, situation):
    """Return the kept or the solver's answer; None if the look was too old.

    A host where a build failed is better than none.
    """
    snapshot = situation.snapshot
    ask = _ask_early if snapshot.is_old else _ask
    problem = snapshot.problem
    for path, host in _failed_hosts(work, situation.group):
        snapshot.exclude(path, host)
    answer = strategy.kept_answer(work, situation)
    if answer is None:
        answer = ask(work, strategy, tools, situation)
    has_avoided = snapshot.problem is not problem
    if answer and answer.status != VRTPlan.PLACED and has_avoided:
        snapshot.problem = problem
        answer = ask(work, strategy, tools, situation)
    return answer


def _failed_hosts(work, group):
    """Yield (path, planned host) of the failed members of a group."""
    plan = VRTPlan.find_newest(work.context, group.id)
    planned = plan.nodes() if plan else {}
    # A lost hold says nothing against its host.
    lost = VRTHold.lost_members(work.context, group.id)
    for member in group.members:
        has_failed = member.status == states.Member.FAILED
        if has_failed and member.path in planned and member.id not in lost:
            yield member.path, planned[member.path]


def _ask(work, strategy, tools, situation):
    """Return the answer to the first question that is answered well enough."""
    answer = None
    for problem, suffices in strategy.questions(work, situation):
        answer = tools.solve(work.deadline.limit(problem))
        if suffices(answer):
            break
    return answer


def _ask_early(work, strategy, tools, situation):
    """Return the answer from an old reading, if none can be better.

    That is a plan for all members which suffices as the first answer: with
    more capacity, further questions might not be needed.
    """
    problem, suffices = next(iter(strategy.questions(work, situation)))
    answer = tools.solve(work.deadline.limit(problem, deadlines.EARLY_SHARE))
    is_complete = answer.status == VRTPlan.PLACED and not answer.unplaced
    return answer if is_complete and suffices(answer) else None


def _find_gaps(snapshot, answer, excluded):
    """Return reasons why a refusal may be wrong; may query Placement."""
    is_refused = answer.status == VRTPlan.REFUSED
    return snapshot.gaps.find() if is_refused and not excluded else []


def _rehearse(work, tools, snapshot, decision):
    """Return the (class name, host id) pairs that Nova's filters refuse."""
    refused = tools.rehearse(
        work.context, snapshot, decision.arriving, work.deadline.check
    )
    if refused:
        LOG.info(
            "VRT group %(group)s: Nova's filters refuse %(refused)s; these "
            'hosts are excluded for their member classes.',
            {'group': work.group.uuid, 'refused': sorted(refused)},
        )
    return refused
