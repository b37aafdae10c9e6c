# SPDX-License-Identifier: Apache-2.0
"""Planning of a revision, around the holds and servers of its group.

The steps are those of a first plan, with the group's draft. The group stays
unchanged until the draft is held, and for good if no plan is found.
"""

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.objects import states
from nova_groupext.objects.event import VRTEvent
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.adopt import adoption
from nova_groupext.scheduler.current import current_holds
from nova_groupext.scheduler.current import locations
from nova_groupext.scheduler.decide import changeover
from nova_groupext.scheduler.decide import end_states
from nova_groupext.scheduler.decide import planning
from nova_groupext.scheduler.decide import resize_needs
from nova_groupext.scheduler.decide import revision_problem
from nova_groupext.scheduler.look import look
from nova_groupext.scheduler.nova import hosts

LOG = logging.getLogger(__name__)


class Revising(planning.Planning):
    """Planning of a draft, from PLANNING to an answer.

    :cvar STATUSES: statuses in which a group can be revised
    :cvar IS_REPLAN: whether a planner, not the tenant, has started it
    :param draft: VRTGroup
    :param group: VRTGroup that the draft revises
    """

    STATUSES = states.GROUP_WITH_HOLDS
    IS_REPLAN = False

    def __init__(self, context, draft, group, client, ledger, lease, deadline):
        super().__init__(context, draft, client, ledger, lease, deadline)
        self._revised = group
        self._standing = None
        # MemberLocations and ResizeNeeds at the decision.
        self._positions = None
        self._needs = None
        # EndStates of the newest plan, and the paths of the moving servers
        # that last prevented a plan.
        self._ends = None
        self._in_the_way = []
        # {path: plan entry} of new reservations, and VRTHolds of old ones that
        # are no longer needed.
        self._growths = {}
        self._leaving_growths = []

    def run(self):
        """Plan the draft and hold it, or store why not; see Planning.run()."""
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
        # A group without holds may be held around servers that it adopts.
        begins = states.GROUP_WITHOUT_HOLDS if adopted else ()
        if self._revised.status not in (*self.STATUSES, *begins):
            raise self._revised.conflict('replan it, or describe a new group')
        self._positions = locations.of(self._context, self._revised)
        self._standing = current_holds.CurrentHolds.of(
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
        self._needs = resize_needs.find_resize_needs(
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
        """Keep all holds on their hosts if no other plan would be better.

        If the tenant has named the members that may move, all others stay in
        any case.
        """
        staying = {
            path: hold
            for path, hold in self._needs.staying.items()
            if hold.node in seen.hosts
        }
        movable_paths = self._group.movable_paths
        if movable_paths is not None:
            bound = {
                path: hold
                for path, hold in staying.items()
                if path not in movable_paths
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
        """Return the solver's answer with some holds fixed to their hosts."""
        return self._solve(
            revision_problem.pinning(
                seen.problem, staying, self._needs.growing
            )
        )

    def _parsed(self, problem):
        return revision_problem.read(
            problem, self._needs.growing, self._away()
        )

    def _away(self):
        """Return the shelved members that get no host until they return."""
        return self._shelved() - self._needs.staying.keys()

    def _shelved(self):
        return {
            member.path
            for member in self._revised.members
            if member.status == states.Member.SHELVED
        }

    def _plan(self, seen, answer):
        """Store the plan; servers stay on their hosts until a resize."""
        placement = answer['placement']
        growing = self._needs.growing.keys()
        reservations, leaving = {}, dict(self._standing.reservations)
        resizes = {}
        for path in (growing | self._shelved()) & placement.keys():
            reservation = self._needs.staying.get(path)
            if reservation and reservation.node == placement[path]:
                del leaving[path]
                there = locations.Location(reservation.host, reservation.node)
            else:
                seat = super()._seat(seen, answer, path, placement[path])
                reservations[path] = seat
                there = locations.Location(seat['host'], seat['node'])
            if path in growing:
                resizes[path] = there
        self._growths, self._leaving_growths = (
            reservations,
            [*leaving.values()],
        )
        plan = super()._plan(
            seen, {**answer, 'placement': {**placement, **self._needs.growing}}
        )
        self._ends = end_states.EndStates(
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
        """Check whether policies hold until all resizes and moves have ended.

        Assignments that violate them are excluded from further attempts.

        :raises: MemberStateConflict when moves alone violate a policy
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
            return end_states.conflict(self._in_the_way).format_message()
        return super()._why_in_vain()

    def _conclude(self, status, fault=None):
        """Restore the hints of servers that were not adopted, then conclude.

        Another planner may have begun the adoption and died.
        """
        adoption.let_hints_follow(self._context, self._group)
        super()._conclude(status, fault)

    def _adopted(self):
        return adoption.seats(
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
        return changeover.SwapPlan(
            plan=plan,
            seats={
                path: seat
                for path, seat in arriving.items()
                if path not in self._growths
            },
            reservations=self._growths,
            growing=frozenset(self._needs.growing),
            leaving=[*leaving, *self._leaving_growths],
            standing=self._standing,
            positions=self._positions,
        )

    def _tell(self):
        # Planners repeat replacements; an event for each would be noise.
        if not self.IS_REPLAN:
            VRTEvent.happened(
                self._context,
                self._revised.id,
                f'revision_{self._group.status.lower()}',
                self._group.fault,
            )
        LOG.info(
            'The revision of VRT group %(group)s is %(status)s.',
            {'group': self._revised.uuid, 'status': self._group.status},
        )
