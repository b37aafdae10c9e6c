# SPDX-License-Identifier: Apache-2.0
"""Step 11 of a revision: its draft is put in force, by a swap if needed.

New holds are filled before old ones are released. Where a new hold needs
capacity of an old one on the same host, one request swaps all of these, so
that the group never owns less than before.

1. Insert rows of the new holds that need no old one's capacity, and fill them.
2. Refuse to go on if foreign consumers are on new exclusive hosts.
3. Insert rows for the servers that the draft adopts.
4. Without holds on the same host: commit, one transaction. Else
   protocol.swap: prepare, apply, commit.

Before the commit, an error releases what 1 to 3 have written; unless the quota
is too small, the draft is decided again. After a crash the next owner of the
lease does the same, or finishes the swap: see protocol.hold_plan,
adopt.adoption and protocol.swap. After the commit successors get the paths of
the members that they become; the reaper does this as well.
"""

import dataclasses
import functools

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext import notifications
from nova_groupext import quota
from nova_groupext.membership import settle_group
from nova_groupext.objects import create_reservations
from nova_groupext.objects import drafts
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.adopt import adoption
from nova_groupext.scheduler.current import locations
from nova_groupext.scheduler.decide import resize_needs
from nova_groupext.scheduler.protocol import exclusive_hosts
from nova_groupext.scheduler.protocol import hold_plan
from nova_groupext.scheduler.protocol.swap import apply_and_commit
from nova_groupext.scheduler.protocol.swap import commit_draft

LOG = logging.getLogger(__name__)


def commit(work, tools, situation, decision):
    """Make a group what its draft describes.

    :param work: strategy.Work of the draft
    :param situation: strategy.Situation in which it was decided
    :param decision: decisions.Decision
    :returns: False when a concurrent change prevented it; the group is then as
        that change left it
    :raises: LimitExceeded when the tenant's quota is too small
    """
    placement_client = tools.placement_client
    return _Commit(work, placement_client, situation, decision).run()


class _Commit:
    """One attempt; the deadline applies until holds outside the swap are full.

    Those need no capacity of old holds.
    """

    def __init__(self, work, placement_client, situation, decision):
        self._context = work.context
        self._placement_client = placement_client
        self._lease = work.lease
        self._deadline = work.deadline
        self._group = situation.group
        self._draft = work.group
        self._waiting = create_reservations.count_servers(
            work.context, work.group
        )
        self._situation = situation
        self._decision = decision
        # Committed holds that end with the revision.
        self._ending = [*_replaced(situation, decision), *decision.unneeded]
        # New holds that need no capacity of old ones.
        self._separate = []

    def run(self):
        """Fill the new holds and put the draft in force; see commit()."""
        try:
            is_done = self._commit(self._fill())
        except exception.LimitExceeded:
            self._undo()
            raise
        except (
            exception.HoldFailed,
            exception.GenerationConflict,
            exception.ServerConflict,
            exception.MemberStateConflict,
        ) as exc:
            LOG.info(
                'The revision of VRT group %(group)s is planned again: '
                '%(why)s',
                {'group': self._group.uuid, 'why': exc},
            )
            self._undo()
            return False
        if is_done:
            settle_group.settle(self._context, self._group.id)
            self._report()
        return is_done

    def _undo(self):
        """Release the holds outside the swap, and adopt no servers."""
        hold_plan.release_pending(
            self._context, self._placement_client, self._separate
        )
        adoption.compensate(self._context, self._lease, self._draft)

    def _fill(self):
        """Fill the holds outside the swap; return the swaps.Swap."""
        swap, new = self._split(self._rows())
        if new:
            with self._deadline.paused():
                self._separate = self._with_project_lock(self._insert, new)
        hold_plan.hold(
            *(self._context, self._placement_client, self._lease),
            *(self._separate, self._deadline.check),
        )
        exclusive_hosts.refuse_foreign_consumers(
            *(self._context, self._placement_client),
            *(self._group, self._separate),
        )
        adopted = adoption.begin(
            *(self._context, self._placement_client, self._lease),
            *(self._group, self._draft, self._decision.plan),
        )
        return dataclasses.replace(
            swap, separate=self._separate, adopted=adopted
        )

    def _commit(self, swap):
        """Commit the revision, by a swap if needed; return whether it is."""
        args = (self._context, self._lease, self._group, self._draft)
        if not swap.old_holds:
            # No new hold needs the capacity of an old one: no swap is needed.
            commit_draft(*args, swap, self._check)
            return True
        with faultpoints.around('revise.prepare'):
            swap = self._with_project_lock(
                revisions.prepare, *args, swap, self._check
            )
        return apply_and_commit(
            *(self._context, self._placement_client, self._lease, swap),
            functools.partial(commit_draft, *args, swap),
        )

    def _with_project_lock(self, work, *args):
        return quota.with_project_lock(
            self._context,
            self._draft.project_id,
            functools.partial(work, *args),
        )

    def _rows(self):
        """Return new holds, not created; add placeholders to `_ending`."""
        placeholder_holds, giving_way = exclusive_hosts.placeholder_changes(
            *(self._context, self._placement_client, self._group, self._draft),
            *(self._decision.plan, self._decision.arriving, self._ending),
        )
        self._ending += giving_way
        # A path that existed before keeps its member.
        drafted = {member.path: member for member in self._draft.members}
        existing = {member.path: member for member in self._group.members}
        members = {**drafted, **existing}
        decision = self._decision
        return [
            *(
                VRTHold.for_member(members[path], placement)
                for path, placement in decision.new.items()
            ),
            *placeholder_holds,
            *(
                VRTHold.reservation(existing[path], placement)
                for path, placement in decision.reservations.items()
            ),
        ]

    def _split(self, rows):
        """Return (swaps.Swap, rows that need no capacity of old holds).

        The swap contains only changes that share a host: those have to change
        in one request.
        """
        released = {hold.provider_uuid for hold in self._ending}
        successors = [row for row in rows if row.provider_uuid in released]
        hosts = {row.provider_uuid for row in successors}
        old_holds = [h for h in self._ending if h.provider_uuid in hosts]
        swap = swaps.Swap(
            old_holds=old_holds,
            successors=swaps.pair_successors(old_holds, successors),
            ending=[h for h in self._ending if h.provider_uuid not in hosts],
        )
        return swap, [row for row in rows if row.provider_uuid not in released]

    def _insert(self, rows):
        """Insert rows of holds outside the swap, if the quota covers all."""
        self._check_quota()
        return hold_plan.insert_pending(self._context, self._lease, rows)

    def _check_quota(self):
        current = self._situation.current
        existing = {member.path: member for member in self._group.members}
        # Nova counts these servers itself, shelved or not.
        servers = {
            path
            for path in existing
            if existing[path].status in states.MEMBER_HAS_SERVER
        }
        servers.update(current.servers)
        drafted = [
            member
            for member in self._draft.members
            if member.path in self._decision.plan.placements
            and member.path not in servers
        ]
        counted = [*current.held, *current.reservations]
        quota.check_or_wait(
            self._context,
            self._draft.project_id,
            drafted,
            excluded_ids=[
                *(existing[path].id for path in counted),
                *(existing[m.path].id for m in drafted if m.path in existing),
            ],
            resizing=resize_needs.with_flavors(
                self._draft, self._group, self._situation.needs.resizing
            ),
            waiting=self._waiting,
        )

    def _check(self):
        """Check the quota, and that members are where they were decided.

        :raises: GenerationConflict, LimitExceeded
        """
        self._check_quota()
        present = locations.read(self._context, self._group)
        if present != self._situation.locations:
            raise exception.GenerationConflict(group=self._group.uuid)

    def _report(self):
        revised = VRTGroup.get(self._context, self._group.uuid)
        LOG.info('VRT group %s is revised.', revised.uuid)
        notifications.notify_revision(self._context, self._group, revised)
        adopted = drafts.servers_to_adopt(self._draft)
        for member in revised.members:
            if member.path in adopted:
                notifications.notify_member(
                    self._context, notifications.Event.REDEEM, member
                )


def _replaced(situation, decision):
    """Return the VRTHolds that are replaced, or have no member any more."""
    return [
        hold
        for path, hold in situation.current.held.items()
        if path in decision.arriving
        or path in situation.current.servers
        or path not in decision.plan.placements
    ]
