# SPDX-License-Identifier: Apache-2.0
"""Some members get other places; nothing else of their group changes.

Planners begin this by themselves: for members that are held where no server
can go any more, and for members that have failed. It is a revision that
describes the group as it is, with three differences. All others that are held
stay where they are unless there is no other way, nobody is held who was
released or left out, and nothing is held for longer than before.
"""

from nova_groupext import exception
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.planner import subproblem
from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler.decide import revising

Outcome = rpcapi.Outcome


def start(context, group, elsewhere):
    """Begin to look for other places.

    :param elsewhere: {path: [node, ...]}, see VRTGroup.elsewhere
    :returns: the draft, in state PLANNING; None while the group is revised
    """
    draft = revisions.again(group, elsewhere)
    try:
        revisions.start(context, group, draft)
    except (exception.GenerationConflict, exception.GroupStateConflict):
        return None
    return draft


def in_need(context, group, elsewhere):
    """Return the paths of those members that are to be placed anew.

    They are held where they should not be; or they have failed, and there is
    no server of theirs that owns the capacity still.
    """
    promised = VRTHold.list_by_group(context, group.id, *states.PROMISED)
    hold_of = {hold.member_id: hold for hold in promised}
    need = set()
    for member in group.members:
        if member.path not in elsewhere:
            continue
        hold = hold_of.get(member.id)
        if hold is None:
            is_in_need = member.status == states.Member.FAILED
        else:
            is_in_need = (
                member.status == states.Member.HELD
                and hold.node in elsewhere[member.path]
            )
        if is_in_need:
            need.add(member.path)
    return need


def outcome(context, group_uuid, elsewhere):
    """Return the Outcome once all has been tried."""
    group = VRTGroup.find(context, group_uuid)
    if group is not None and in_need(context, group, elsewhere):
        return Outcome.IN_VAIN
    return Outcome.DONE


class Replanning(revising.Revising):
    """A draft's way from PLANNING to an answer."""

    STATUSES = states.CAN_REPLAN
    IS_REPLAN = True

    _need = frozenset()

    def run(self):
        """As Revising; what has become needless is forgotten."""
        need = in_need(self._context, self._revised, self._group.elsewhere)
        if need:
            return super().run()
        return self._group.mark_deleted(self._context)

    def _look(self):
        seen = super()._look()
        elsewhere = self._group.elsewhere
        self._need = in_need(self._context, self._revised, elsewhere)
        for path in self._need:
            for node in elsewhere[path]:
                self._avoid(seen, path, node)
        return seen

    def _decide(self, seen):
        """Let all others stay if that is possible at all."""
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
        """Those who have a place, and those who need one; all are due."""
        return subproblem.due(
            super()._parsed(problem),
            {*self._standing.servers, *self._standing.held, *self._need},
        )
