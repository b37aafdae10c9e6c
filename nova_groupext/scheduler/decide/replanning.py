# SPDX-License-Identifier: Apache-2.0
"""Replacement of some members of a group; nothing else of it changes.

Planners start this themselves: for held members whose hosts are refused at a
redeem, for failed members, and for shelved servers of exclusive groups. It is
a revision that describes the group as it is, with three differences: all other
holds stay on their hosts unless there is no other solution, no released or
unplaced member gets a hold, and no hold lasts longer than before.
"""

from nova_groupext import exception
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler.decide import revising
from nova_groupext.solver.model import subproblem

Outcome = rpcapi.Outcome

# Statuses of members that need a hold if they have none, and of members that
# own one for a server to come.
_COME_BACK = (states.Member.FAILED, states.Member.SHELVED)
_WAIT = (states.Member.HELD, states.Member.SHELVED)


def start(context, group, excluded_hosts):
    """Create the draft of a replacement.

    :param excluded_hosts: {path: [node, ...]}, see VRTGroup.excluded_hosts
    :returns: the draft, in state PLANNING; None while the group is revised
    """
    draft = revisions.again(group, excluded_hosts)
    try:
        revisions.start(context, group, draft)
    except (exception.GenerationConflict, exception.GroupStateConflict):
        return None
    return draft


def in_need(context, group, excluded_hosts):
    """Return the paths of the members that are to be replaced.

    Such a member is held on an excluded host; or it has failed or is shelved,
    and no committed hold remains.
    """
    promised = VRTHold.list_by_group(context, group.id, *states.HOLD_COMMITTED)
    hold_of = {hold.owner_id: hold for hold in promised}
    need = set()
    for member in group.members:
        if member.path not in excluded_hosts:
            continue
        hold = hold_of.get(member.id)
        if hold is None:
            is_in_need = member.status in _COME_BACK
        else:
            is_in_need = (
                member.status in _WAIT
                and hold.node in excluded_hosts[member.path]
            )
        if is_in_need:
            need.add(member.path)
    return need


def outcome(context, group_uuid, excluded_hosts):
    """Return the Outcome after a replacement was tried."""
    group = VRTGroup.find(context, group_uuid)
    if group is not None and in_need(context, group, excluded_hosts):
        return Outcome.NO_OTHER_HOST
    return Outcome.DONE


class Replanning(revising.Revising):
    """Planning of a replacement draft, from PLANNING to an answer."""

    STATUSES = states.GROUP_REPLACEABLE
    IS_REPLAN = True

    _need = frozenset()

    def run(self):
        """Plan the draft like Revising, or delete it if no member needs it."""
        need = in_need(
            self._context, self._revised, self._group.excluded_hosts
        )
        if need:
            return super().run()
        return self._group.mark_deleted(self._context)

    def _look(self):
        seen = super()._look()
        excluded_hosts = self._group.excluded_hosts
        self._need = in_need(self._context, self._revised, excluded_hosts)
        for path in self._need:
            for node in excluded_hosts[path]:
                self._avoid(seen, path, node)
        return seen

    def _decide(self, seen):
        """Keep all other holds on their hosts if any solution allows that."""
        staying = {
            path: hold
            for path, hold in self._needs.staying.items()
            if path not in self._need and hold.node in seen.hosts
        }
        answer = self._ask(seen, staying)
        if staying and answer['status'] != VRTPlan.PLACED:
            answer = self._ask(seen, {})
        return answer

    def _parsed(self, problem):
        """Restrict the problem to placed members and those to be replaced."""
        return subproblem.due(
            super()._parsed(problem),
            {
                *self._standing.servers,
                *self._standing.held,
                *self._needs.staying,
                *self._need,
            },
        )

    def _away(self):
        return super()._away() - self._need
