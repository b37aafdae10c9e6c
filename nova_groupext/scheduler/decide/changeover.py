# SPDX-License-Identifier: Apache-2.0
"""Swap of a group's current holds for those that its draft's plan needs.

New holds are filled before old ones are released. Where a new hold needs
capacity of an old one on the same host, one request swaps all of these, so
that the group never owns less than before.
"""

import dataclasses
import functools

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext import notifications
from nova_groupext import quota
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.adopt import adoption
from nova_groupext.scheduler.current import current_holds
from nova_groupext.scheduler.current import locations
from nova_groupext.scheduler.decide import resize_needs
from nova_groupext.scheduler.protocol import exclusive_hosts
from nova_groupext.scheduler.protocol import hold_plan
from nova_groupext.scheduler.protocol import swap as protocol

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class SwapPlan:
    """Differences between a group's current holds and its draft's plan.

    :ivar plan: VRTPlan of the draft, for the whole group
    :ivar seats: {path: plan entry} of members that need a new hold
    :ivar reservations: {path: plan entry} of the new reservations to resize or
        unshelve servers
    :ivar growing: paths of all servers that are to be resized
    :ivar leaving: committed VRTHolds that are replaced or not needed
    :ivar standing: current_holds.CurrentHolds at the decision
    :ivar positions: locations.MemberLocations at the decision
    """

    plan: VRTPlan
    seats: dict
    reservations: dict
    growing: frozenset
    leaving: list[VRTHold]
    standing: current_holds.CurrentHolds
    positions: locations.MemberLocations

    @property
    def arriving(self):
        """Mapping {path: plan entry} of all that is new to Placement."""
        return {**self.seats, **self.reservations}


class Changeover:
    """One attempt to make a group what its draft describes.

    :param ledger: PlacementClient
    :param lease: VRTLease of the group
    :param group: VRTGroup, as it was when the cloud was read
    :param draft: VRTGroup that revises it
    :param change: SwapPlan
    :param deadline: deadlines.Deadline; it applies until the holds are filled
        that need no capacity of old ones
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
        """Fill the new holds and put the draft in force.

        :returns: False when a concurrent change prevented it; the group is
            then as that change left it
        :raises: LimitExceeded when the tenant's quota is too small
        """
        beside = []
        try:
            rows = self._rows()
            swap, new = self._divided(rows)
            if new:
                with self._deadline.stopped():
                    beside = self._serialised(self._write_down, new)
            hold_plan.hold(
                *(self._context, self._ledger, self._lease, beside),
                self._deadline.go_on,
            )
            exclusive_hosts.refuse_strangers(
                self._context, self._ledger, self._group, beside
            )
            adopted = adoption.begin(
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
            hold_plan.undo(self._context, self._ledger, beside)
            adoption.turn_back(self._context, self._lease, self._draft)
            is_done = False
        except exception.LimitExceeded:
            adoption.turn_back(self._context, self._lease, self._draft)
            raise
        if not is_done:
            return False
        self._tell()
        return True

    def _make(self, swap):
        """Commit the revision, by a swap if needed; return whether it is."""
        own = (self._context, self._lease, self._group, self._draft)
        if not swap.olds:
            # No new hold needs the capacity of an old one: no swap is needed.
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
        """Return new holds, not created; add placeholders to `_leaving`."""
        placeholder_holds, giving_way = exclusive_hosts.refilled_with(
            *(self._context, self._ledger, self._group, self._draft),
            *(self._change.plan, self._change.arriving, self._leaving),
        )
        self._leaving += giving_way
        # A path that existed before keeps its member.
        drafted = {member.path: member for member in self._draft.members}
        mine = {member.path: member for member in self._group.members}
        members = {**drafted, **mine}
        change = self._change
        return [
            *(
                VRTHold.of(members[path], s)
                for path, s in change.seats.items()
            ),
            *placeholder_holds,
            *(
                VRTHold.reservation(mine[path], seat)
                for path, seat in change.reservations.items()
            ),
        ]

    def _divided(self, rows):
        """Return (swaps.Swap, rows that need no capacity of old holds).

        The swap contains only changes that share a host: those have to change
        in one request.
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
        """Insert rows of holds outside the swap, if the quota covers all."""
        self._check_quota()
        return hold_plan.store(self._context, self._lease, rows)

    def _check_quota(self):
        change = self._change
        mine = {member.path: member for member in self._group.members}
        # Nova counts these servers itself, shelved or not.
        servers = {
            path
            for path in mine
            if mine[path].status in states.MEMBER_HAS_SERVER
        }
        servers.update(change.standing.servers)
        drafted = [
            member
            for member in self._draft.members
            if member.path in change.plan.placement
            and member.path not in servers
        ]
        besides = [*change.standing.held, *change.standing.reservations]
        quota.check(
            self._context,
            self._draft.project_id,
            drafted,
            besides=[
                *(mine[path].id for path in besides),
                *(mine[m.path].id for m in drafted if m.path in mine),
            ],
            growing=resize_needs.with_flavors(
                self._draft, self._group, change.growing
            ),
        )

    def _check(self):
        """Check the quota, and that members are where they were decided.

        :raises: GenerationConflict, LimitExceeded
        """
        self._check_quota()
        now = locations.of(self._context, self._group)
        if now != self._change.positions:
            raise exception.GenerationConflict(group=self._group.uuid)

    def _tell(self):
        self._group = VRTGroup.get(self._context, self._group.uuid)
        LOG.info('VRT group %s is revised.', self._group.uuid)
        notifications.decided(self._context, self._group, 'revised')
        adopted = revisions.adopted(self._draft)
        for member in self._group.members:
            if member.path in adopted:
                notifications.of_member(
                    self._context, notifications.Event.REDEEM, member
                )
