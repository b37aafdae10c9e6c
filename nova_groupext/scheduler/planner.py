# SPDX-License-Identifier: Apache-2.0
"""What a planner does when it is asked, and what it does by itself."""

import contextlib

from keystoneauth1 import exceptions as ks_exc
from nova.scheduler.client import report
from oslo_log import log as logging
import oslo_messaging as messaging

from nova_groupext import exception
from nova_groupext import notifications
from nova_groupext.conf import CONF
from nova_groupext.db import errors as db_errors
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.proposal import VRTProposal
from nova_groupext.planner import clock as clocks
from nova_groupext.scheduler import leases
from nova_groupext.scheduler import ledger
from nova_groupext.scheduler import releasing
from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler import slots
from nova_groupext.scheduler import trouble
from nova_groupext.scheduler.decide import adopting
from nova_groupext.scheduler.decide import deadlines
from nova_groupext.scheduler.decide import planning
from nova_groupext.scheduler.decide import replanning
from nova_groupext.scheduler.decide import revising
from nova_groupext.scheduler.follow import changes
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.follow import reaper
from nova_groupext.scheduler.follow import statistics
from nova_groupext.scheduler.move import drift
from nova_groupext.scheduler.move import proposal
from nova_groupext.scheduler.protocol import keep
from nova_groupext.scheduler.protocol import swap

LOG = logging.getLogger(__name__)

Outcome = rpcapi.Outcome

# What tenants are told of a group that waits, and for what.
PLACEMENT_SILENT = (
    'Placement does not answer; the group is planned when it does.'
)


def guarded(work, *args, about='all groups'):
    """Do a part of the reaper's work."""
    try:
        work(*args)
    except Exception:
        LOG.exception(
            'The reaper leaves %(work)s of %(about)s for its next round.',
            {'work': work.__name__, 'about': about},
        )


class Planner:
    """What a planner does when it is asked; see rpcapi.PlannerAPI.

    :param host: name of its host
    """

    target = messaging.Target(version='1.0')

    def __init__(self, host):
        self._leases = leases.Leases(host)
        self._client = None
        self._slots = slots.Slots(CONF.vrt.max_concurrent_plans)
        # What the reaper need not read again.
        self._changes = changes.Changes()
        # Who is known to be where a group should be alone.
        self._strangers = set()

    # -- coming and going --------------------------------------------------

    def begin(self, context):
        """Say that it is there, and take over what it finds left."""
        self._leases.beat(context)
        self._leases.take_over(context)
        try:
            self._ledger().total(context)
        except (exception.PlacementUnavailable, ks_exc.ClientException) as exc:
            LOG.error(
                'Placement cannot be asked; groups wait until it can be: %s',
                exc,
            )

    def beat(self, context):
        self._leases.beat(context)

    def end(self, context):
        self._leases.end(context)

    # -- one group ---------------------------------------------------------

    def serve_group(self, context, group_uuid):
        """Do what there is to do for a group: release, plan, hold."""
        context = context.elevated()
        group = VRTGroup.find_revised(context, group_uuid)
        if group is not None:
            self._serve(context, group)
        # Their planners may have been too busy to take them.
        self.serve_waiting(context)

    def serve_waiting(self, context):
        """Do what waits for a planner, and what others have left.

        Projects take turns; what there is no slot for goes on waiting.
        """
        for group in VRTGroup.list_left(context):
            self._guarded(self._serve, context, group)
        to_plan = [
            (self._serve, group) for group in VRTGroup.list_to_plan(context)
        ]
        to_propose = [
            (self._propose, group)
            for group in VRTProposal.list_waiting(context)
        ]
        waiting = [
            (group.project_id, (work, group))
            for work, group in (*to_plan, *to_propose)
        ]
        for work, group in self._slots.in_turn(waiting):
            if self._slots.admits(group.project_id):
                self._guarded(work, context, group)

    @staticmethod
    def _guarded(work, context, group):
        guarded(work, context, group, about=f'VRT group {group.uuid}')

    def _serve(self, context, group):
        """Serve a group, or leave word to the planner that works on it.

        :param group: VRTGroup that is no draft
        """
        with (
            trouble.passed_over(f'VRT group {group.uuid}'),
            self._owning(context, group) as lease,
        ):
            if lease is not None:
                self._work(context, group.uuid, lease)

    def _work(self, context, group_uuid, lease):
        """Do all that a group, as it is now, and its draft ask for."""
        self._give_back(context, group_uuid, lease)
        if self._plan(context, group_uuid, lease):
            self._give_back(context, group_uuid, lease)

    def _give_back(self, context, group_uuid, lease):
        """Give back what leaves a group, or all of a deleted one."""
        group = VRTGroup.find(context, group_uuid)
        if group is not None:
            releasing.release(
                *(context, self._ledger(), lease, group), self._strangers
            )

    def _plan(self, context, group_uuid, lease):
        """Plan a group, or the draft of it, if that waits for it.

        :returns: False when there is nothing to plan, or this planner has
            enough to do: then it goes on waiting
        """
        group = VRTGroup.find(context, group_uuid)
        draft = group and VRTGroup.drafts_of(context, [group.id]).get(group.id)
        waiting = [
            each
            for each in (group, draft)
            if each is not None and each.status == states.Group.PLANNING
        ]
        if not waiting:
            return False
        with self._slots.taken(group.project_id) as is_taken:
            if is_taken:
                self._plan_one(context, waiting[0], group, lease)
            return is_taken

    def _plan_one(self, context, wanted, group, lease):
        """Plan a group, or the draft of it.

        :param wanted: the VRTGroup that is PLANNING
        """
        deadline = deadlines.Deadline(
            context, lease, CONF.vrt.planning_time_limit
        )
        if wanted is group:
            planner = planning.Planning(
                *(context, group, self._placement(), self._ledger()),
                *(lease, deadline),
            )
        else:
            planner = self._revising(context, wanted, group, lease, deadline)
        self._run(context, wanted, planner, lease)

    def replan(self, context, group_uuid, elsewhere, seconds):
        """Find other places for members, for whom a server waits.

        Who is busy says so at once: the server's scheduler asks again, and
        perhaps another planner.
        """
        return self._replan(
            *(context.elevated(), group_uuid, elsewhere),
            *(clocks.Clock(seconds), True),
        )

    def _replan(self, context, group_uuid, elsewhere, clock, is_urgent=False):
        """Return what comes of it; BUSY if anything is in the way.

        :param is_urgent: whether a server waits for it
        """
        group = VRTGroup.find(context, group_uuid)
        if group is None:
            return Outcome.DONE
        with (
            self._slots.taken(
                group.project_id, is_urgent=is_urgent
            ) as is_taken,
            self._owning_if(is_taken, context, group) as lease,
        ):
            if lease is None:
                return Outcome.BUSY
            return self._replan_alone(
                context, group_uuid, elsewhere, lease, clock
            )

    def _owning_if(self, is_taken, context, group):
        if is_taken:
            return self._owning(context, group, leaves_word=False)
        return contextlib.nullcontext()

    def _replan_alone(self, context, group_uuid, elsewhere, lease, clock):
        # Fillers count as the group's own room; what leaves does not.
        self._give_back(context, group_uuid, lease)
        group = VRTGroup.find(context, group_uuid)
        if not (
            group
            and group.status in states.CAN_REPLAN
            and replanning.in_need(context, group, elsewhere)
        ):
            # It was deleted, or somebody was faster.
            return Outcome.DONE
        draft = replanning.start(context, group, elsewhere)
        if draft is None:
            return Outcome.BUSY
        deadline = deadlines.Deadline(context, lease, clock.left())
        self._run(
            context,
            draft,
            self._revising(context, draft, group, lease, deadline),
            lease,
        )
        self._give_back(context, group_uuid, lease)
        return replanning.outcome(context, group_uuid, elsewhere)

    def propose(self, context):
        """Work out the proposals that are asked for, if there is time."""
        self.serve_waiting(context.elevated())

    def _propose(self, context, group):
        """Look for the fewest moves that mend a group, if that is wanted."""
        with self._slots.taken(group.project_id) as is_taken:
            if is_taken:
                proposal.propose(context, group, self._placement())

    def reap(self, context):
        """Finish what others began; what fails does not stop the rest.

        What has to be decided has rounds of its own.
        """
        placement = self._ledger()
        guarded(reaper.expire, context)
        for member in reaper.to_conclude(context):
            guarded(
                reaper.conclude,
                *(context, placement, member),
                about=f'member {member.path}',
            )
        for see in reaper.to_follow():
            guarded(see, context, placement, self._leases)
        guarded(self._changes.begin, context, placement)
        for compare in reaper.to_compare():
            guarded(compare, context, placement, self._leases, self._changes)
        guarded(reaper.empty, context, placement)
        guarded(reaper.watch, context, placement)
        guarded(reaper.forget_ended, context)
        for group in reaper.to_release(context):
            self._guarded(self._serve, context, group)
        guarded(self._note_drift, context)
        guarded(self._count, context)

    def replan_failed(self, context):
        """Place members anew that have failed, if the operator wants that."""
        for group, elsewhere in reaper.to_replan(context):
            guarded(
                self._replan_failed,
                *(context, group, elsewhere),
                about=f'VRT group {group.uuid}',
            )

    def _replan_failed(self, context, group, elsewhere):
        need = replanning.in_need(context, group, elsewhere)
        if not need:
            return
        outcome = self._replan(
            context,
            group.uuid,
            {path: elsewhere[path] for path in need},
            clocks.Clock(CONF.vrt.planning_time_limit),
        )
        if outcome != Outcome.BUSY:
            VRTMember.count_replan(context, group.id, need)

    @staticmethod
    def _note_drift(context):
        for group, domains in reaper.to_check(context):
            guarded(
                drift.note,
                *(context, group, domains),
                about=f'VRT group {group.uuid}',
            )

    @staticmethod
    def _count(context):
        counts = statistics.statistics(context)
        LOG.info('VRT groups: %s', statistics.line(counts))

    def keep_exclusive(self, context):
        """Keep strangers off the hosts that groups have to themselves."""
        for group in reaper.to_keep(context):
            guarded(
                self._keep_alone,
                *(context, group),
                about=f'VRT group {group.uuid}',
            )

    def _keep_alone(self, context, group):
        """Keep hosts of a group; once more if its servers have left any."""
        if not self._keep(context, group):
            placement = self._ledger()
            follow.follow_servers(context, placement, self._leases, group)
            self._keep(context, group)

    def _keep(self, context, group):
        """Return what keep() does, True if another works on the group."""
        placement = self._ledger()
        with self._leases.owning(context, placement, group.id) as lease:
            group = lease and VRTGroup.find(context, group.uuid)
            return group is None or keep.keep(
                context, placement, lease, group, self._strangers
            )

    @contextlib.contextmanager
    def _owning(self, context, group, *, leaves_word=True):
        """Yield the lease of a group; None when another has it.

        If others have left word meanwhile, all that there is to do is done
        before the lease is given back. What fails is left: this or another
        planner begins anew a few seconds later.

        :param group: VRTGroup that is no draft
        """
        try:
            lease = self._leases.acquire(
                context, group.id, leaves_word=leaves_word
            )
        except (exception.GroupNotFound, exception.GroupBusy) as exc:
            LOG.info('Not now: %s', exc)
            lease = None
        if lease is None:
            yield None
            return
        try:
            swap.finish(context, self._ledger(), lease)
            yield lease
            # Who only tries is waited for: others do what they have asked.
            while not self._release(context, lease) and leaves_word:
                self._work(context, group.uuid, lease)
        finally:
            self._leases.lay_down(lease)

    def _release(self, context, lease):
        """Give a lease back, with nothing left that was begun by it."""
        swap.finish(context, self._ledger(), lease)
        return lease.release(context)

    def _revising(self, context, draft, group, lease, deadline):
        """Return who is to decide what becomes of a draft."""
        given = (context, draft, group, self._placement(), self._ledger())
        if draft.elsewhere is None:
            return revising.Revising(*given, lease, deadline)
        return replanning.Replanning(*given, lease, deadline)

    def _run(self, context, group, planner, lease):
        """Plan a group.

        :raises: PlacementUnavailable, or an error of the database: nothing is
            lost, the group is planned when that has passed
        """
        try:
            planner.run()
        except (
            exception.GenerationConflict,
            exception.GroupBusy,
            # It was forgotten, a draft perhaps because it counts by now.
            exception.GroupNotFound,
        ) as exc:
            LOG.info(
                'VRT group %(group)s was planned in vain: %(why)s',
                {'group': group.uuid, 'why': exc},
            )
        except exception.LimitExceeded as exc:
            self._fail(context, group, exc.format_message())
        except exception.PlacementUnavailable:
            group.note(context, PLACEMENT_SILENT)
            raise
        except db_errors.ANY:
            raise
        except Exception:
            LOG.exception('VRT group %s could not be planned.', group.uuid)
            # Where a swap is made already, the group is what it wanted to be.
            made = swap.finish(context, self._ledger(), lease)
            if made != swap.Side.MADE:
                self._fail(context, group, 'An unexpected error.')

    @staticmethod
    def _fail(context, group, reason):
        """Tell the tenant what is safe to tell, the operator everything."""
        LOG.info('VRT group %s is in ERROR: %s', group.uuid, reason)
        fault = f'{reason} The operator finds more under {context.request_id}.'
        adopting.let_hints_follow(context, group)
        with contextlib.suppress(exception.GenerationConflict):
            group.change(context, states.Group.ERROR, fault=fault)
            notifications.decided(context, group)

    def _placement(self):
        if self._client is None:
            self._client = report.SchedulerReportClient()
        return self._client

    def _ledger(self):
        return ledger.Ledger(self._placement())
