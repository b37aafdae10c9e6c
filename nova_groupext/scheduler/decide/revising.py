# SPDX-License-Identifier: Apache-2.0
"""A group is planned once more, around what it has already.

The same way as the first time, with the group's draft; the group stays as it
is until the draft is held, and for good if there is no place for that.
"""

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.decide import adopting
from nova_groupext.scheduler.decide import changeover
from nova_groupext.scheduler.decide import ends
from nova_groupext.scheduler.decide import growing
from nova_groupext.scheduler.decide import planning
from nova_groupext.scheduler.decide import posing
from nova_groupext.scheduler.look import hosts
from nova_groupext.scheduler.look import look
from nova_groupext.scheduler.look import positions
from nova_groupext.scheduler.look import standing

LOG = logging.getLogger(__name__)


class Revising(planning.Planning):
    """A draft's way from PLANNING to an answer.

    :cvar STATUSES: what a group has to be to be revised
    :cvar IS_REPLAN: whether nobody but planners has asked for it
    :param draft: VRTGroup
    :param group: the VRTGroup that it revises
    """

    STATUSES = states.HOLDS
    IS_REPLAN = False

    def __init__(self, context, draft, group, client, ledger, lease, deadline):
        super().__init__(context, draft, client, ledger, lease, deadline)
        self._revised = group
        self._standing = None
        # Where everybody was when it was decided.
        self._positions = None
        self._needs = None
        # Where else than the newest plan says servers may come to be, and
        # the paths of those who moved when nobody could be put beside them.
        self._ends = None
        self._in_the_way = []
        # {path: seat} of what is to be held for resizes and is not yet, and
        # VRTHolds of what need not be any more.
        self._growths = {}
        self._leaving_growths = []

    def run(self):
        """Plan the draft and hold it, or say why not; see Planning.run()."""
        try:
            self._attempt()
        except (
            exception.GroupStateConflict,
            exception.MemberStateConflict,
            exception.ServerConflict,
        ) as exc:
            self._conclude(states.Group.UNDECIDED, fault=exc.format_message())

    def _look(self):
        self._revised = VRTGroup.get(self._context, self._revised.uuid)
        adopted = self._adopted()
        # Around servers that it adopts, something of a group may be held.
        begins = states.HOLDS_NOTHING if adopted else ()
        if self._revised.status not in (*self.STATUSES, *begins):
            raise self._revised.conflict('replan it, or describe a new group')
        self._positions = positions.of(self._context, self._revised)
        self._standing = standing.Standing.of(
            self._context, self._revised
        ).adopting(adopted)
        seen = look.look(
            self._context,
            self._group,
            self._client,
            self._excluded,
            self._standing,
            self._deadline.go_on,
        )
        self._avoid_failed_hosts(seen, self._revised)
        self._needs = growing.compare(
            self._context,
            self._ledger,
            self._revised,
            self._group,
            self._standing,
            seen,
            is_replan=self.IS_REPLAN,
        )
        return seen

    def _decide(self, seen):
        """Let everybody stay if nothing would be better otherwise.

        If the tenant has said who may move, the others stay in any case.
        """
        staying = {
            path: hold
            for path, hold in self._needs.staying.items()
            if hold.node in seen.hosts
        }
        movable = self._group.movable
        if movable is not None:
            bound = {
                path: hold
                for path, hold in staying.items()
                if path not in movable
            }
            return self._ask(seen, bound)
        if staying:
            answer = self._ask(seen, staying)
            if (
                answer['status'] == VRTPlan.PLACED
                and not answer['unplaced']
                and not answer['cost']['soft']
            ):
                return answer
        return self._ask(seen, {})

    def _ask(self, seen, staying):
        """Return the planner's answer if some stay where they are held."""
        return self._solve(
            posing.pinning(seen.problem, staying, self._needs.growing)
        )

    def _parsed(self, problem):
        """Who is shelved has no place, and looks for one when it is back."""
        away = {
            member.path
            for member in self._revised.members
            if member.status == states.Member.SHELVED
        }
        return posing.read(problem, self._needs.growing, away)

    def _plan(self, seen, answer):
        """Let servers be where they are until they are resized."""
        placement = answer['placement']
        growths, leaving = {}, dict(self._standing.growths)
        resizes = {}
        for path in self._needs.growing.keys() & placement.keys():
            growth = self._needs.staying.get(path)
            if growth and growth.node == placement[path]:
                del leaving[path]
                resizes[path] = positions.Seat(growth.host, growth.node)
            else:
                seat = super()._seat(seen, answer, path, placement[path])
                growths[path] = seat
                resizes[path] = positions.Seat(seat['host'], seat['node'])
        self._growths, self._leaving_growths = growths, [*leaving.values()]
        plan = super()._plan(
            seen, {**answer, 'placement': {**placement, **self._needs.growing}}
        )
        self._ends = ends.Ends(
            *(self._context, self._group, plan.placement),
            *(resizes, self._positions),
        )
        return plan

    def _seat(self, seen, answer, path, host_id):
        hold = self._seated(path, host_id)
        if hold is None:
            return super()._seat(seen, answer, path, host_id)
        host = seen.hosts.get(host_id)
        return hold.seat(hosts.all_domains(host) if host else {})

    def _seated(self, path, node):
        """Return the hold of a member that stays on a host, else None."""
        hold = self._standing.servers.get(path, self._needs.staying.get(path))
        return hold if hold and hold.node == node else None

    def _arriving(self, plan):
        arriving = {
            path: seat
            for path, seat in plan.placement.items()
            if self._seated(path, seat['node']) is None
        }
        return {**arriving, **self._growths}

    def _rehearse(self, seen, placement):
        return self._are_welcome(seen, placement) and super()._rehearse(
            seen, placement
        )

    def _are_welcome(self, seen, arriving):
        """Tell whether policies hold until all resizes and moves are over.

        What they forbid is not tried again.

        :raises: MemberStateConflict when nobody who comes is to blame
        """
        coming = {path: seat['node'] for path, seat in arriving.items()}
        unwelcome = self._ends.unwelcome(coming)
        self._excluded |= {
            (seen.class_of[path], coming[path]) for path in unwelcome
        }
        if unwelcome:
            self._in_the_way = [*self._ends.moving]
            return False
        self._ends.check()
        return True

    def _why_in_vain(self):
        if self._in_the_way:
            return ends.conflict(self._in_the_way).format_message()
        return super()._why_in_vain()

    def _conclude(self, status, fault=None):
        """Conclude it, but first let servers that it has not adopted go.

        Perhaps another planner has begun to, and died.
        """
        adopting.let_hints_follow(self._context, self._group)
        super()._conclude(status, fault)

    def _adopted(self):
        return adopting.seats(
            self._context, self._ledger, self._revised, self._group
        )

    def _hold(self, plan):
        return changeover.Changeover(
            *(self._context, self._ledger, self._lease),
            *(self._revised, self._group, self._change(plan)),
            self._deadline,
        ).run()

    def _change(self, plan):
        arriving = self._arriving(plan)
        leaving = [
            hold
            for path, hold in self._standing.held.items()
            if path in arriving
            or path in self._standing.servers
            or path not in plan.placement
        ]
        return changeover.Change(
            plan=plan,
            seats={
                path: seat
                for path, seat in arriving.items()
                if path not in self._growths
            },
            growths=self._growths,
            growing=frozenset(self._needs.growing),
            leaving=[*leaving, *self._leaving_growths],
            standing=self._standing,
            positions=self._positions,
        )

    def _tell(self):
        LOG.info(
            'The revision of VRT group %(group)s is %(status)s.',
            {'group': self._revised.uuid, 'status': self._group.status},
        )
