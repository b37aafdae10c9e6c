# SPDX-License-Identifier: Apache-2.0
"""Decisions: stored plans, and how they differ from what a group has."""

import collections
from collections.abc import Set
import dataclasses
import typing

from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member_placement import MemberPlacement
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.current import locations
from nova_groupext.scheduler.nova import host_domains
from nova_groupext.solver.model import answers
from nova_groupext.solver.model import violations


@dataclasses.dataclass(frozen=True)
class Decision:
    """A stored plan, compared with the holds that the group has.

    :ivar plan: VRTPlan for the whole group
    :ivar new: {path: MemberPlacement} of the members that need a new hold
    :ivar reservations: {path: MemberPlacement} of the new reservations to
        resize or unshelve servers
    :ivar unneeded: VRTHolds of reservations that are not needed any more
    :ivar resizes: {path: Location} that is planned for a resize
    """

    plan: VRTPlan
    new: dict
    reservations: dict = dataclasses.field(default_factory=dict)
    unneeded: list[VRTHold] = dataclasses.field(default_factory=list)
    resizes: dict = dataclasses.field(default_factory=dict)

    @property
    def arriving(self):
        """Mapping {path: MemberPlacement} of all that is new to Placement."""
        return {**self.new, **self.reservations}


class Rejection(typing.NamedTuple):
    """Assignments that make a plan unacceptable, and why.

    :ivar pairs: {(class name, host id)} to exclude from further attempts
    :ivar reason: fault text, should no other plan be found; None for the usual
    """

    pairs: Set
    reason: str | None = None


#: Another attempt may conclude, with the same hosts.
AGAIN = Rejection(frozenset())


def store_answer(work, answer, placements):
    """Store an answer of the solver; return the VRTPlan.

    :param placements: {path: MemberPlacement}
    """
    values = answer.to_dict()
    del values['placement']
    plan = VRTPlan(
        group_id=work.group.id,
        status=values.pop('status'),
        placements=placements,
        answer=values,
    )
    plan.create(work.context)
    return plan


def kept_answer(work, situation):
    """Return the answer of the newest plan if it is still valid, else None.

    A tenant who holds a what-if gets the plan that it has seen.
    """
    old = VRTPlan.find_newest(work.context, work.group.id)
    if old is None or old.is_outdated or old.status != VRTPlan.PLACED:
        return None
    snapshot, alternative = situation.snapshot, {}
    for path, placement in old.placements.items():
        index = _find_candidate(snapshot, path, placement)
        if index is None:
            return None
        alternative[path] = index
    answer = answers.Answer(
        **{**old.answer, 'alternative': alternative},
        status=old.status,
        placement=old.nodes(),
    )
    problem = snapshot.problem
    plan = violations.as_plan(problem, answer.placement, alternative)
    return None if violations.find(problem, plan) else answer


def _find_candidate(snapshot, path, placement):
    """Return the index of a placement's allocation candidate, or None.

    Placement may offer other candidates by now, or in another order.
    """
    if path not in snapshot.class_of:
        return None
    member_class = snapshot.class_of_member(path)
    for index, each in enumerate(
        member_class.candidates.get(placement.node, ())
    ):
        if each['allocations'] == placement.allocations:
            return index
    return None


def store(work, situation, answer):
    """Store the plan that an answer contains; return the Decision.

    Servers stay on their hosts until a resize: of a server to be resized or
    unshelved the answer tells the host of its reservation.
    """
    answer = _exchange_alternatives(situation, answer)
    resizing = situation.needs.resizing
    reservations, resizes = {}, {}
    unneeded = dict(situation.current.reservations)
    for path in resizing.keys() | situation.current.shelved.keys():
        node = answer.placement.get(path)
        if node is None:
            continue
        kept = _unchanged_hold(situation, answer, path, node)
        if kept is not None:
            del unneeded[path]
            location = locations.Location(kept.host, kept.node)
        else:
            new = _new_placement(situation, answer, path, node)
            reservations[path] = new
            location = locations.Location(new.host, new.node)
        if path in resizing:
            resizes[path] = location
    placements = {
        path: _placement(situation, answer, path, node)
        for path, node in {**answer.placement, **resizing}.items()
    }
    return Decision(
        plan=store_answer(work, answer, placements),
        new={
            path: placement
            for path, placement in placements.items()
            if path not in reservations
            and _kept_hold(situation, answer, path, placement.node) is None
        },
        reservations=reservations,
        unneeded=[*unneeded.values()],
        resizes=resizes,
    )


def _exchange_alternatives(situation, answer):
    """Return the answer in which members keep their holds where possible.

    Members of one class on one host are interchangeable: they can exchange the
    allocation candidates that the solver has assigned to them.
    """
    snapshot = situation.snapshot
    unchanged = situation.needs.unchanged
    paths_by_class = collections.defaultdict(list)
    for path in answer.alternative:
        node = answer.placement[path]
        paths_by_class[snapshot.class_of[path], node].append(path)
    alternative = {}
    for (_class, node), paths in paths_by_class.items():
        left = collections.Counter(answer.alternative[path] for path in paths)
        for path in paths:
            hold = unchanged.get(path)
            if hold is None or hold.node != node:
                continue
            index = _find_candidate(snapshot, path, hold)
            if left[index]:
                alternative[path] = index
                left[index] -= 1
        others = (path for path in paths if path not in alternative)
        alternative.update(zip(others, left.elements(), strict=True))
    return dataclasses.replace(answer, alternative=alternative)


def _kept_hold(situation, answer, path, node):
    """Return the hold of a member that keeps it on a host, else None."""
    server = situation.current.servers.get(path)
    if server is not None:
        return server if server.node == node else None
    return _unchanged_hold(situation, answer, path, node)


def _unchanged_hold(situation, answer, path, node):
    """Return the hold that a member without changes keeps, else None.

    A member may stay on its host and take another provider's capacity.
    """
    hold = situation.needs.unchanged.get(path)
    if hold is None or hold.node != node:
        return None
    # Without an alternative the hold was fixed, or there is only one.
    if path in answer.alternative:
        request = _allocation_request(situation, answer, path, node)
        if request['allocations'] != hold.allocations:
            return None
    return hold


def _placement(situation, answer, path, node):
    """Return the MemberPlacement of a member on a host."""
    hold = _kept_hold(situation, answer, path, node)
    if hold is None:
        return _new_placement(situation, answer, path, node)
    host = situation.snapshot.hosts.get(node)
    return hold.placement(host_domains.all_of_state(host) if host else {})


def _new_placement(situation, answer, path, node):
    """Return the MemberPlacement of a member that needs a new hold."""
    host = situation.snapshot.hosts[node]
    request = _allocation_request(situation, answer, path, node)
    return MemberPlacement(
        host=host.host,
        node=host.nodename,
        provider=host.uuid,
        allocations=request['allocations'],
        mappings=request['mappings'],
        domains=host_domains.all_of_state(host),
    )


def _allocation_request(situation, answer, path, node):
    requests = situation.snapshot.class_of_member(path).candidates[node]
    return requests[answer.alternative.get(path, 0)]
