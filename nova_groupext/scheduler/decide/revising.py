# SPDX-License-Identifier: Apache-2.0
"""A group is planned once more, around what it has already.

The same way as the first time, with the group's draft; the group stays as it
is until the draft is held, and for good if there is no place for that.

Who is held and moves gets the new seat before the old one is given up. Where
one needs the room of another, all of these change places in one request, so
that the group never has less than it had.
"""

import collections
import datetime
import functools

from oslo_log import log as logging
from oslo_utils import timeutils

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext import notifications
from nova_groupext import quota
from nova_groupext.conf import CONF
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler import releasing
from nova_groupext.scheduler.decide import adopting
from nova_groupext.scheduler.decide import ends
from nova_groupext.scheduler.decide import exchanging
from nova_groupext.scheduler.decide import growing
from nova_groupext.scheduler.decide import planning
from nova_groupext.scheduler.decide import posing
from nova_groupext.scheduler.hold import exclusive
from nova_groupext.scheduler.hold import holding
from nova_groupext.scheduler.look import look
from nova_groupext.scheduler.look import standing
from nova_groupext.scheduler.move import positions

LOG = logging.getLogger(__name__)


class Revising(planning.Planning):
    """A draft's way from PLANNING to an answer.

    :cvar STATUSES: what a group has to be to be revised
    :cvar IS_REPLAN: see transitions.exchange_holds
    :param draft: VRTGroup
    :param group: the VRTGroup that it revises
    :param intents: VRTIntents, by which nobody else works on either
    """

    STATUSES = states.HOLDS
    IS_REPLAN = False

    def __init__(self, context, draft, group, client, ledger, intents):
        super().__init__(context, draft, client, ledger, intents[0])
        self._revised = group
        self._intents = intents
        self._standing = None
        # Where everybody was when it was decided.
        self._positions = None
        # Paths of the moving servers that nobody could be put beside.
        self._in_the_way = []
        self._needs = None
        # {path: seat} of what is to be held for resizes and is not yet, and
        # VRTHolds of what need not be any more.
        self._growths = {}
        self._leaving_growths = []
        # {path: set of host ids} where everybody is to be, or may be as long
        # as not all of them are.
        self._places = {}

    def run(self):
        """Plan the draft and hold it, or say why not; see Planning.run()."""
        try:
            super().run()
        except (
            exception.GroupStateConflict,
            exception.MemberStateConflict,
            exception.ServerConflict,
        ) as exc:
            self._conclude(states.Group.UNDECIDED, fault=exc.format_message())

    def clear(self):
        """Undo what a planner that died had begun.

        If it has exchanged holds already, they change back in one request.
        """
        context, group = self._context, self._revised
        written = [
            row
            for each in (group, self._group)
            for row in VRTHold.list_by_group(
                context, each.id, states.Hold.WRITING
            )
        ]
        if written:
            held = standing.Standing.of(context, group).free
            exchanging.change_back(context, self._ledger, group, held, written)
        VRTHold.retire(context, written, is_answered=False)
        for each in (group, self._group):
            releasing.give_back(context, each, self._ledger)

    def _renew(self):
        for intent in self._intents:
            intent.renew(self._context, CONF.vrt.lease)

    def _look(self):
        self._revised = VRTGroup.get(self._context, self._revised.uuid)
        adopted = self._adopted()
        # Around servers that it adopts, something of a group may be held.
        begins = states.HOLDS_NOTHING if adopted else ()
        if self._revised.status not in (*self.STATUSES, *begins):
            raise exception.GroupStateConflict(
                group=self._revised.uuid,
                status=self._revised.status,
                reason='replan it, or describe a new group',
            )
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
        for path in self._needs.growing.keys() & placement.keys():
            growth = self._needs.staying.get(path)
            if growth and growth.node == placement[path]:
                del leaving[path]
            else:
                growths[path] = super()._seat(
                    seen, answer, path, placement[path]
                )
        self._growths, self._leaving_growths = growths, [*leaving.values()]
        self._places = self._all_places(placement)
        return super()._plan(
            seen, {**answer, 'placement': {**placement, **self._needs.growing}}
        )

    def _all_places(self, placement):
        found = collections.defaultdict(set)
        for path, host_id in (
            *placement.items(),
            *self._needs.growing.items(),
        ):
            found[path].add(host_id)
        for path, seats in self._positions.targets.items():
            found[path].update(seat.node for seat in seats)
        return found

    def _seat(self, seen, answer, path, host_id):
        hold = self._seated(path, host_id)
        if hold is None:
            return super()._seat(seen, answer, path, host_id)
        host = seen.hosts.get(host_id)
        return {
            'host': hold.host,
            'node': hold.node,
            'provider': hold.provider_uuid,
            'allocations': hold.allocations,
            'mappings': hold.mappings,
            'domains': planning.domains(host) if host else {},
        }

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
        """
        is_settled = all(len(each) == 1 for each in self._places.values())
        if is_settled and not self._positions.targets:
            return True
        coming = {path: seat['node'] for path, seat in arriving.items()}
        unwelcome = posing.unwelcome(
            seen.problem, coming, self._needs.growing, self._places
        )
        self._excluded |= {
            (seen.class_of[path], coming[path]) for path in unwelcome
        }
        if unwelcome:
            self._in_the_way = [*self._positions.targets]
        return not unwelcome

    def _why_in_vain(self):
        if self._in_the_way:
            return ends.conflict(self._in_the_way).format_message()
        return super()._why_in_vain()

    def _adopted(self):
        return adopting.seats(
            self._context, self._ledger, self._revised, self._group
        )

    def _hold(self, plan):
        ends.check(self._context, self._group, plan.placement, self._positions)
        arriving = self._arriving(plan)
        leaving = [
            hold
            for path, hold in self._standing.held.items()
            if path in arriving
            or path in self._standing.servers
            or path not in plan.placement
        ]
        leaving += self._leaving_growths
        rows = []
        try:
            fillers, giving_way = exclusive.refilled(
                *(self._context, self._ledger, self._revised, self._group),
                *(plan, arriving, leaving),
            )
            leaving += giving_way
            rows += quota.serialised(
                self._context,
                self._group.project_id,
                functools.partial(self._write_down, plan, arriving, fillers),
            )
            adopting.point(self._context, self._revised, self._group)
            exchanging.exchange(
                self._context, self._ledger, rows, leaving, self._renew
            )
            self._commit(plan, rows, leaving)
        except (
            exception.HoldFailed,
            exception.GenerationConflict,
            exception.ServerConflict,
            exception.MemberStateConflict,
        ) as exc:
            LOG.info(
                'The revision of VRT group %(group)s is decided again: '
                '%(why)s',
                {'group': self._revised.uuid, 'why': exc},
            )
            exchanging.change_back(
                self._context, self._ledger, self._revised, leaving, rows
            )
            holding.undo(self._context, rows, self._ledger)
            adopting.point_back(self._context, self._group)
            return False
        if fillers or self._standing.fillers:
            # Takes the place of what leaves.
            exclusive.keep(self._context, self._ledger, self._revised, set())
        releasing.give_back(self._context, self._revised, self._ledger)
        return True

    def _write_down(self, plan, arriving, fillers):
        """Return new holds of what the tenant has quota for."""
        drafted = [
            member
            for member in self._group.members
            if member.path in plan.placement
            and member.path not in self._standing.servers
        ]
        mine = {member.path: member for member in self._revised.members}
        besides = [*self._standing.held, *self._standing.growths]
        quota.check(
            self._context,
            self._group.project_id,
            drafted,
            besides=[mine[path].id for path in besides],
            growing=growing.with_flavors(
                self._group, self._revised, self._needs.growing
            ),
        )
        # Who was a member before goes on as the same one.
        members = [mine.get(member.path, member) for member in drafted]
        return holding.write_down(
            self._context,
            members,
            {
                p: seat
                for p, seat in arriving.items()
                if p not in self._growths
            },
            [
                *fillers,
                *(
                    VRTHold.growth(mine[path], seat)
                    for path, seat in self._growths.items()
                ),
            ],
        )

    def _commit(self, plan, rows, leaving):
        paths = {member.id: member.path for member in self._revised.members}
        exchange = revisions.Exchange(
            plan=plan,
            written=rows,
            leaving=leaving,
            left_out=[
                hold.member_id
                for hold in leaving
                if hold.member_id is not None
                and paths[hold.member_id] not in plan.placement
            ],
            expires_at=self._expires_at(),
            is_replan=self.IS_REPLAN,
        )
        self._check_adopted(plan)
        exclusive.refuse_strangers(
            self._context, self._ledger, self._revised, rows
        )
        commit = functools.partial(
            revisions.commit,
            *(self._context, self._revised, self._group),
            *(exchange, self._is_as_planned),
        )
        with faultpoints.around('revise.commit'):
            quota.serialised(self._context, self._group.project_id, commit)
        self._revised = VRTGroup.get(self._context, self._revised.uuid)
        LOG.info('VRT group %s is revised.', self._revised.uuid)
        notifications.decided(self._context, self._revised)
        adopted = revisions.adopted(self._group)
        for member in self._revised.members:
            if member.path in adopted:
                notifications.of_member(
                    self._context, notifications.Event.REDEEM, member
                )

    def _check_adopted(self, plan):
        """See that the servers that are adopted are still where they were.

        :raises: GenerationConflict, ServerConflict, MemberStateConflict
        """
        for path, seat in self._adopted().items():
            if seat.node != plan.placement[path]['node']:
                raise exception.GenerationConflict(group=self._revised.uuid)

    def _is_as_planned(self):
        """Tell whether everybody is, and goes, where they did."""
        now = positions.of(self._context, self._revised)
        return now == self._positions

    def _expires_at(self):
        """What is new is held as long as it would be in a new group.

        What was there may have been extended for longer.
        """
        new = timeutils.utcnow() + datetime.timedelta(
            seconds=self._group.expires_in
        )
        return max(new, self._revised.expires_at or new)

    def _tell(self):
        LOG.info(
            'The revision of VRT group %(group)s is %(status)s.',
            {'group': self._revised.uuid, 'status': self._group.status},
        )
