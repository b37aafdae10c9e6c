# SPDX-License-Identifier: Apache-2.0
"""RPC methods and periodic tasks of a planner process."""

import contextlib

from keystoneauth1 import exceptions as ks_exc
from nova.scheduler.client import report
from oslo_log import log as logging
import oslo_messaging as messaging

from nova_groupext import exception
from nova_groupext import notifications
from nova_groupext.conf import CONF
from nova_groupext.db import database_errors
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.proposal import VRTProposal
from nova_groupext.scheduler import availability
from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler.adopt import adoption
from nova_groupext.scheduler.decide import deadlines
from nova_groupext.scheduler.decide import planning
from nova_groupext.scheduler.decide import propose
from nova_groupext.scheduler.decide import replanning
from nova_groupext.scheduler.decide import revising
from nova_groupext.scheduler.decide import slots
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.move import drift
from nova_groupext.scheduler.placement import changed_providers
from nova_groupext.scheduler.placement import placement_client
from nova_groupext.scheduler.protocol import leases
from nova_groupext.scheduler.protocol import maintain
from nova_groupext.scheduler.protocol import swap
from nova_groupext.scheduler.reap import reaper
from nova_groupext.scheduler.reap import statistics
from nova_groupext.scheduler.release import release_group
from nova_groupext.solver.model import time_budget

LOG = logging.getLogger(__name__)

Outcome = rpcapi.Outcome

# Fault text of a group that stays PLANNING while Placement is unavailable.
PLACEMENT_SILENT = (
    'Placement does not answer; the group is planned when it does.'
)


def run_step(work, *args, about='all groups'):
    """Run a step of periodic work; log an exception instead of raising it."""
    try:
        work(*args)
    except Exception:
        LOG.exception(
            'The reaper leaves %(work)s of %(about)s for its next round.',
            {'work': work.__name__, 'about': about},
        )


class Planner:
    """RPC endpoint and periodic tasks of one planner; see rpcapi.PlannerAPI.

    :param host: name of the planner's host
    """

    target = messaging.Target(version='1.0')

    def __init__(self, host):
        self._leases = leases.Leases(host)
        self._client = None
        self._slots = slots.Slots(CONF.vrt.max_concurrent_plans)
        # Providers that the reaper need not read again.
        self._changes = changed_providers.ChangedProviders()
        # (group uuid, host, consumer) of the foreign consumers on exclusive
        # hosts that the log already names.
        self._strangers = set()

    # -- start and stop ----------------------------------------------------

    def begin(self, context):
        """Register this planner and take over work of ended processes."""
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
        """Release, plan and hold whatever a group needs now."""
        context = context.elevated()
        group = VRTGroup.find_revised(context, group_uuid)
        if group is not None:
            self._serve(context, group)
        # Other groups may have found all slots of their planners taken.
        self.serve_waiting(context)

    def serve_waiting(self, context):
        """Serve groups that wait for a planner, or that another planner left.

        Projects take turns. A group without a free slot keeps waiting.
        """
        for group in VRTGroup.list_left(context):
            self._guarded(self._serve, context, group)
        tried = set()
        # More groups may start to wait while one is planned.
        while (found := self._next_in_turn(context, tried)) is not None:
            work, group = found
            tried.add((work, group.id))
            self._guarded(work, context, group)

    def _next_in_turn(self, context, tried):
        """Return the next (function, VRTGroup) that gets a slot, or None.

        :param tried: {(function, group id)} served in this round
        """
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
            if (work, group.id) not in tried
            and self._slots.admits(group.project_id)
        ]
        return next(iter(self._slots.in_turn(waiting)), None)

    @staticmethod
    def _guarded(work, context, group):
        run_step(work, context, group, about=f'VRT group {group.uuid}')

    def _serve(self, context, group):
        """Serve a group, or ask the planner that has its lease to do so.

        :param group: VRTGroup that is not a draft
        """
        with (
            availability.skip_unavailable(f'VRT group {group.uuid}'),
            self._owning(context, group) as lease,
        ):
            if lease is not None:
                self._work(context, group.uuid, lease)

    def _work(self, context, group_uuid, lease):
        """Release and plan whatever a group and its draft need now."""
        self._give_back(context, group_uuid, lease)
        if self._plan(context, group_uuid, lease):
            self._give_back(context, group_uuid, lease)

    def _give_back(self, context, group_uuid, lease):
        """Release holds that a group no longer needs; all if it is deleted."""
        group = VRTGroup.find(context, group_uuid)
        if group is not None:
            release_group.release(
                *(context, self._ledger(), lease, group), self._strangers
            )

    def _plan(self, context, group_uuid, lease):
        """Plan a group or its draft, if one of them is PLANNING.

        :returns: False when nothing is PLANNING, or no slot is free: the group
            then keeps waiting
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
        """Plan a group or its draft.

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

    def replan(self, context, group_uuid, excluded_hosts, seconds):
        """Find other hosts for members whose servers wait in a scheduler.

        BUSY is returned at once, so that the scheduler may try other planners.
        """
        return self._replan(
            *(context.elevated(), group_uuid, excluded_hosts),
            *(time_budget.TimeBudget(seconds), True),
        )

    def _replan(
        self, context, group_uuid, excluded_hosts, clock, is_urgent=False
    ):
        """Return the Outcome; BUSY if no slot or no lease is available.

        :param is_urgent: whether a server waits for the result
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
                context, group_uuid, excluded_hosts, lease, clock
            )

    def _owning_if(self, is_taken, context, group):
        if is_taken:
            return self._owning(context, group, leaves_word=False)
        return contextlib.nullcontext()

    def _replan_alone(self, context, group_uuid, excluded_hosts, lease, clock):
        # Placeholder allocations count as the group's own capacity.
        self._give_back(context, group_uuid, lease)
        group = VRTGroup.find(context, group_uuid)
        if not (
            group
            and group.status in states.GROUP_REPLACEABLE
            and replanning.in_need(context, group, excluded_hosts)
        ):
            # The group was deleted, or another planner was faster.
            return Outcome.DONE
        draft = replanning.start(context, group, excluded_hosts)
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
        return replanning.outcome(context, group_uuid, excluded_hosts)

    def propose(self, context):
        """Compute requested proposals while slots are free."""
        self.serve_waiting(context.elevated())

    def _propose(self, context, group):
        """Compute the proposal of a group if a slot is free."""
        with self._slots.taken(group.project_id) as is_taken:
            if is_taken:
                propose.propose(context, group, self._placement())

    def reap(self, context):
        """Finish work that other processes left; a failed step stops no other.

        Steps that make decisions have timers of their own.
        """
        placement = self._ledger()
        run_step(reaper.expire, context)
        for member in reaper.list_stuck_redeems(context):
            run_step(
                reaper.resolve_redeem,
                *(context, placement, member),
                about=f'member {member.path}',
            )
        for see in reaper.to_follow():
            run_step(see, context, placement, self._leases)
        run_step(self._changes.begin, context, placement)
        for compare in reaper.to_compare():
            run_step(compare, context, placement, self._leases, self._changes)
        run_step(reaper.empty, context, placement)
        run_step(reaper.watch, context, placement)
        run_step(reaper.forget_ended, context)
        for group in reaper.to_release(context):
            self._guarded(self._serve, context, group)
        run_step(self._note_drift, context)
        run_step(self._count, context)

    def replan_failed(self, context):
        """Replace failed members, if the operator has enabled that."""
        for group, excluded_hosts in reaper.members_to_replace(context):
            run_step(
                self._replan_failed,
                *(context, group, excluded_hosts),
                about=f'VRT group {group.uuid}',
            )

    def _replan_failed(self, context, group, excluded_hosts):
        need = replanning.in_need(context, group, excluded_hosts)
        if not need:
            return
        outcome = self._replan(
            context,
            group.uuid,
            {path: excluded_hosts[path] for path in need},
            time_budget.TimeBudget(CONF.vrt.planning_time_limit),
        )
        if outcome != Outcome.BUSY:
            VRTMember.count_replan(context, group.id, need)

    @staticmethod
    def _note_drift(context):
        for group, domains in reaper.to_check(context):
            run_step(
                drift.note,
                *(context, group, domains),
                about=f'VRT group {group.uuid}',
            )

    @staticmethod
    def _count(context):
        counts = statistics.statistics(context)
        LOG.info('VRT groups: %s', statistics.line(counts))

    def keep_exclusive(self, context):
        """Fill free capacity on the exclusive hosts of groups."""
        for group in reaper.to_keep(context):
            run_step(
                self._keep_alone,
                *(context, group),
                about=f'VRT group {group.uuid}',
            )

    def _keep_alone(self, context, group):
        """Maintain exclusive hosts; follow servers and repeat if needed."""
        if not self._keep(context, group):
            placement = self._ledger()
            follow.follow_servers(context, placement, self._leases, group)
            self._keep(context, group)

    def _keep(self, context, group):
        """Return what maintain.keep() does; True without lease or group."""
        placement = self._ledger()
        with self._leases.owning(context, placement, group.id) as lease:
            group = lease and VRTGroup.find(context, group.uuid)
            return group is None or maintain.keep(
                context, placement, lease, group, self._strangers
            )

    @contextlib.contextmanager
    def _owning(self, context, group, *, leaves_word=True):
        """Yield the lease of a group; None when another planner has it.

        Requests of other planners are served before the lease is released.
        After an error it is kept: some planner starts again a few seconds
        later.

        :param group: VRTGroup that is not a draft
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
            # Without `leaves_word`, requests of others are not served here: a
            # heartbeat ends the lease, and the next round serves the group.
            while not self._release(context, lease) and leaves_word:
                self._work(context, group.uuid, lease)
        finally:
            self._leases.lay_down(lease)

    def _release(self, context, lease):
        """Finish an unfinished swap; return False if others want the group."""
        swap.finish(context, self._ledger(), lease)
        return lease.release(context)

    def _revising(self, context, draft, group, lease, deadline):
        """Return the Revising or Replanning that decides a draft."""
        given = (context, draft, group, self._placement(), self._ledger())
        if draft.excluded_hosts is None:
            return revising.Revising(*given, lease, deadline)
        return replanning.Replanning(*given, lease, deadline)

    def _run(self, context, group, planner, lease):
        """Run a planning and handle its errors.

        :raises: PlacementUnavailable, or a database error: nothing is lost,
            the group is planned when the service answers again
        """
        try:
            planner.run()
        except (
            exception.GenerationConflict,
            exception.GroupBusy,
            # The rows were removed; of a draft perhaps because it is in force.
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
        except database_errors.ANY:
            raise
        except Exception:
            LOG.exception('VRT group %s could not be planned.', group.uuid)
            # After an applied swap the group is already as it was to become.
            made = swap.finish(context, self._ledger(), lease)
            if made != swap.Side.MADE:
                self._fail(
                    context,
                    group,
                    'An unexpected error. The operator finds more under '
                    f'{context.request_id}.',
                )

    @staticmethod
    def _fail(context, group, fault):
        """Set a group to ERROR with a fault that its tenant may see."""
        LOG.info('VRT group %s is in ERROR: %s', group.uuid, fault)
        adoption.let_hints_follow(context, group)
        with contextlib.suppress(exception.GenerationConflict):
            group.change(context, states.Group.ERROR, fault=fault)
            notifications.decided(context, group)

    def _placement(self):
        if self._client is None:
            self._client = report.SchedulerReportClient()
        return self._client

    def _ledger(self):
        return placement_client.PlacementClient(self._placement())
