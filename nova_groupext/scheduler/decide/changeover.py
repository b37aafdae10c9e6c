# SPDX-License-Identifier: Apache-2.0
"""What a group has gives way to what the plan of its draft wants.

Who is held and moves gets the new seat before the old one is given up. Where
one needs the room of another, all of these change places in one request, so
that the group never has less than it had.
"""

import dataclasses
import datetime
import functools

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext import notifications
from nova_groupext import quota
from nova_groupext.objects import changing_hands
from nova_groupext.objects import exchanges
from nova_groupext.objects import revisions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler import releasing
from nova_groupext.scheduler.decide import adopting
from nova_groupext.scheduler.decide import exchanging
from nova_groupext.scheduler.decide import growing
from nova_groupext.scheduler.hold import exclusive
from nova_groupext.scheduler.hold import holding
from nova_groupext.scheduler.look import positions
from nova_groupext.scheduler.look import standing

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Change:
    """What a revision changes.

    :ivar plan: VRTPlan of the draft, for the whole group
    :ivar seats: {path: seat} of those who are to be held anew
    :ivar growths: {path: seat} of what is to be held anew for resizes
    :ivar growing: paths of all servers that are to be resized
    :ivar leaving: promised VRTHolds that these replace, or nobody needs
    :ivar standing: standing.Standing of the group when it was decided
    :ivar positions: positions.Positions of the group at that time
    :ivar expires_at: see exchanges.Exchange
    :ivar is_replan: see exchanges.Exchange
    """

    plan: VRTPlan
    seats: dict
    growths: dict
    growing: frozenset
    leaving: list[VRTHold]
    standing: standing.Standing
    positions: positions.Positions
    expires_at: datetime.datetime | None
    is_replan: bool

    @property
    def arriving(self):
        """{path: seat} of all that is new to Placement."""
        return {**self.seats, **self.growths}


class Changeover:
    """One try of a group to become as it is drafted.

    :param ledger: ledger.Ledger
    :param group: VRTGroup, as it was looked at
    :param draft: the VRTGroup that revises it
    :param change: Change
    """

    def __init__(self, context, ledger, group, draft, change):
        self._context = context
        self._ledger = ledger
        self._group = group
        self._draft = draft
        self._change = change
        self._leaving = [*change.leaving]

    def run(self, renew):
        """Hold what is new, and let the draft become the group.

        :param renew: see holding.hold
        :returns: False when something else happened meanwhile; all is as it
            was then
        :raises: LimitExceeded when the tenant has not so much quota left
        """
        rows = []
        try:
            fillers = self._fillers()
            rows += self._serialised(self._write_down, fillers)
            adopting.point(self._context, self._group, self._draft)
            exchanging.exchange(
                self._context, self._ledger, rows, self._leaving, renew
            )
            self._commit(rows)
        except (
            exception.HoldFailed,
            exception.GenerationConflict,
            exception.ServerConflict,
            exception.MemberStateConflict,
        ) as exc:
            LOG.info(
                'The revision of VRT group %(group)s is decided again: '
                '%(why)s',
                {'group': self._group.uuid, 'why': exc},
            )
            self._change_back(rows)
            return False
        if fillers or self._change.standing.fillers:
            # Takes the place of what leaves.
            exclusive.keep(self._context, self._ledger, self._group, set())
        releasing.give_back(self._context, self._ledger, self._group)
        return True

    def _change_back(self, rows):
        exchanging.change_back(
            self._context, self._ledger, self._group, self._leaving, rows
        )
        holding.undo(self._context, self._ledger, rows)
        adopting.point_back(self._context, self._draft)

    def _serialised(self, work, *args):
        return quota.serialised(
            self._context,
            self._draft.project_id,
            functools.partial(work, *args),
        )

    def _fillers(self):
        """Return new fillers; what gives way to them leaves."""
        fillers, giving_way = exclusive.refilled(
            *(self._context, self._ledger, self._group, self._draft),
            *(self._change.plan, self._change.arriving, self._leaving),
        )
        self._leaving += giving_way
        return fillers

    def _write_down(self, fillers):
        """Return new holds of what the tenant has quota for."""
        change = self._change
        drafted = [
            member
            for member in self._draft.members
            if member.path in change.plan.placement
            and member.path not in change.standing.servers
        ]
        mine = {member.path: member for member in self._group.members}
        besides = [*change.standing.held, *change.standing.growths]
        quota.check(
            self._context,
            self._draft.project_id,
            drafted,
            besides=[mine[path].id for path in besides],
            growing=growing.with_flavors(
                self._draft, self._group, change.growing
            ),
        )
        growths = [
            VRTHold.growth(mine[path], seat)
            for path, seat in change.growths.items()
        ]
        write_down = functools.partial(
            holding.write_down,
            self._context,
            # Who was a member before goes on as the same one.
            [mine.get(member.path, member) for member in drafted],
            change.seats,
            [*fillers, *growths],
        )
        return changing_hands.begin(
            self._context, self._group, self._leaving, write_down
        )

    def _commit(self, rows):
        self._check_adopted()
        exclusive.refuse_strangers(
            self._context, self._ledger, self._group, rows
        )
        with faultpoints.around('revise.commit'):
            self._serialised(
                revisions.commit,
                *(self._context, self._group, self._draft),
                *(self._change.plan, self._exchange(rows)),
                self._is_as_planned,
            )
        self._group = VRTGroup.get(self._context, self._group.uuid)
        self._tell()

    def _exchange(self, rows):
        paths = {member.id: member.path for member in self._group.members}
        return exchanges.Exchange(
            written=rows,
            leaving=self._leaving,
            left_out=[
                hold.member_id
                for hold in self._leaving
                if hold.member_id is not None
                and paths[hold.member_id] not in self._change.plan.placement
            ],
            expires_at=self._change.expires_at,
            is_replan=self._change.is_replan,
        )

    def _check_adopted(self):
        """See that the servers that are adopted are still where they were.

        :raises: GenerationConflict, ServerConflict, MemberStateConflict
        """
        seats = adopting.seats(
            self._context, self._ledger, self._group, self._draft
        )
        for path, seat in seats.items():
            if seat.node != self._change.plan.placement[path]['node']:
                raise exception.GenerationConflict(group=self._group.uuid)

    def _is_as_planned(self):
        """Tell whether everybody is, and goes, where they did."""
        now = positions.of(self._context, self._group)
        return now == self._change.positions

    def _tell(self):
        LOG.info('VRT group %s is revised.', self._group.uuid)
        notifications.decided(self._context, self._group)
        adopted = revisions.adopted(self._draft)
        for member in self._group.members:
            if member.path in adopted:
                notifications.of_member(
                    self._context, notifications.Event.REDEEM, member
                )
