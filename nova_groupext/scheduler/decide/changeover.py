# SPDX-License-Identifier: Apache-2.0
"""What a group has gives way to what the plan of its draft wants.

Who is held and moves gets the new seat before the old one is given up. Where
one needs the room of another, all of these change places in one request, so
that the group never has less than it had.
"""

import dataclasses
import functools

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext import notifications
from nova_groupext import quota
from nova_groupext.objects import revisions
from nova_groupext.objects import swaps
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.decide import adopting
from nova_groupext.scheduler.decide import growing
from nova_groupext.scheduler.hold import exclusive
from nova_groupext.scheduler.hold import holding
from nova_groupext.scheduler.look import positions
from nova_groupext.scheduler.look import standing
from nova_groupext.scheduler.protocol import swap as protocol

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
    """

    plan: VRTPlan
    seats: dict
    growths: dict
    growing: frozenset
    leaving: list[VRTHold]
    standing: standing.Standing
    positions: positions.Positions

    @property
    def arriving(self):
        """{path: seat} of all that is new to Placement."""
        return {**self.seats, **self.growths}


class Changeover:
    """One try of a group to become as it is drafted.

    :param ledger: ledger.Ledger
    :param lease: VRTLease of the group
    :param group: VRTGroup, as it was looked at
    :param draft: the VRTGroup that revises it
    :param change: Change
    :param deadline: deadlines.Deadline; it counts until all is written that
        needs nobody's room
    """

    def __init__(self, context, ledger, lease, group, draft, change, deadline):
        self._context = context
        self._ledger = ledger
        self._lease = lease
        self._deadline = deadline
        self._group = group
        self._draft = draft
        self._change = change
        self._leaving = [*change.leaving]

    def run(self):
        """Hold what is new, and let the draft become the group.

        :returns: False when something else happened meanwhile; all is as it
            was then
        :raises: LimitExceeded when the tenant has not so much quota left
        """
        beside = []
        try:
            rows = self._rows()
            swap, new = self._divided(rows)
            if new:
                with self._deadline.stopped():
                    beside = self._serialised(self._write_down, new)
            holding.hold(
                *(self._context, self._ledger, self._lease, beside),
                self._deadline.go_on,
            )
            exclusive.refuse_strangers(
                self._context, self._ledger, self._group, beside
            )
            adopted = adopting.begin(
                *(self._context, self._ledger, self._lease),
                *(self._group, self._draft, self._change.plan),
            )
            is_done = self._make(
                dataclasses.replace(swap, beside=beside, adopted=adopted)
            )
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
            holding.undo(self._context, self._ledger, beside)
            adopting.turn_back(self._context, self._lease, self._draft)
            is_done = False
        except exception.LimitExceeded:
            adopting.turn_back(self._context, self._lease, self._draft)
            raise
        if not is_done:
            return False
        self._tell()
        return True

    def _make(self, swap):
        """Let what is to be held count; returns whether it does."""
        own = (self._context, self._lease, self._group, self._draft)
        if not swap.olds:
            # Nobody needs another's room: there is nothing to exchange.
            protocol.commit_revision(*own, swap, self._check)
            return True
        with faultpoints.around('revise.prepare'):
            swap = self._serialised(revisions.prepare, *own, swap, self._check)
        return protocol.make(
            *(self._context, self._ledger, self._lease, swap),
            functools.partial(protocol.commit_revision, *own, swap),
        )

    def _serialised(self, work, *args):
        return quota.serialised(
            self._context,
            self._draft.project_id,
            functools.partial(work, *args),
        )

    def _rows(self):
        """Return new holds, not created yet; what gives way leaves."""
        fillers, giving_way = exclusive.refilled(
            *(self._context, self._ledger, self._group, self._draft),
            *(self._change.plan, self._change.arriving, self._leaving),
        )
        self._leaving += giving_way
        # Who was a member before goes on as the same one.
        drafted = {member.path: member for member in self._draft.members}
        mine = {member.path: member for member in self._group.members}
        members = {**drafted, **mine}
        change = self._change
        return [
            *(
                VRTHold.of(members[path], s)
                for path, s in change.seats.items()
            ),
            *fillers,
            *(
                VRTHold.growth(mine[path], seat)
                for path, seat in change.growths.items()
            ),
        ]

    def _divided(self, rows):
        """Return (swaps.Swap of what needs another's room, the other rows).

        Only what changes on the same hosts has to change at once.
        """
        full = {hold.provider_uuid for hold in self._leaving}
        instead = [row for row in rows if row.provider_uuid in full]
        hosts = {row.provider_uuid for row in instead}
        olds = [h for h in self._leaving if h.provider_uuid in hosts]
        swap = swaps.Swap(
            olds=olds,
            successors=swaps.pair(olds, instead),
            leaving=[h for h in self._leaving if h.provider_uuid not in hosts],
        )
        return swap, [row for row in rows if row.provider_uuid not in full]

    def _write_down(self, rows):
        """Store what is filled on its own, if the tenant has quota for all."""
        self._check_quota()
        return holding.store(self._context, self._lease, rows)

    def _check_quota(self):
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
            besides=[
                *(mine[path].id for path in besides),
                *(mine[m.path].id for m in drafted if m.path in mine),
            ],
            growing=growing.with_flavors(
                self._draft, self._group, change.growing
            ),
        )

    def _check(self):
        """See that everybody is, and goes, where they did when it was decided.

        :raises: GenerationConflict, LimitExceeded
        """
        self._check_quota()
        now = positions.of(self._context, self._group)
        if now != self._change.positions:
            raise exception.GenerationConflict(group=self._group.uuid)

    def _tell(self):
        self._group = VRTGroup.get(self._context, self._group.uuid)
        LOG.info('VRT group %s is revised.', self._group.uuid)
        notifications.decided(self._context, self._group)
        adopted = revisions.adopted(self._draft)
        for member in self._group.members:
            if member.path in adopted:
                notifications.of_member(
                    self._context, notifications.Event.REDEEM, member
                )
