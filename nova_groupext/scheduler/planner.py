# SPDX-License-Identifier: Apache-2.0
"""What a planner does when it is asked, and what it does by itself."""

import contextlib
import threading
import time

from nova.scheduler.client import report
from oslo_log import log as logging
import oslo_messaging as messaging

from nova_groupext import exception
from nova_groupext import notifications
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.intent import VRTIntent
from nova_groupext.objects.member import VRTMember
from nova_groupext.planner import clock as clocks
from nova_groupext.scheduler import ledger
from nova_groupext.scheduler import releasing
from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler.decide import planning
from nova_groupext.scheduler.decide import replanning
from nova_groupext.scheduler.decide import revising
from nova_groupext.scheduler.follow import reaper
from nova_groupext.scheduler.follow import statistics
from nova_groupext.scheduler.hold import exclusive
from nova_groupext.scheduler.move import drift
from nova_groupext.scheduler.move import proposal

LOG = logging.getLogger(__name__)

Outcome = rpcapi.Outcome

# Seconds after which a group that somebody else works on is tried again.
PAUSE = 0.25


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
    """What a planner does when it is asked; see rpcapi.PlannerAPI."""

    target = messaging.Target(version='1.2')

    def __init__(self, host):
        self._host = host
        self._client = None
        # A decision may need a whole core and much memory for a while.
        self._deciding = threading.Semaphore(CONF.vrt.max_concurrent_plans)
        # Who is known to be where a group should be alone.
        self._strangers = set()
        self._strays = reaper.Strays()

    def plan_group(self, context, group_uuid):
        """Look, decide and, if the group wants it, hold."""
        context = context.elevated()
        with (
            self._deciding,
            self._owning(context, group_uuid, VRTIntent.PLAN) as (
                group,
                intent,
            ),
        ):
            if group is not None and group.status == states.Group.PLANNING:
                plan = self._plan if group.revises_id is None else self._revise
                plan(context, group, intent)
        self._release_if_deleted(context, group_uuid)

    def release_group(self, context, group_uuid):
        """Give back what released members hold."""
        context = context.elevated()
        with self._owning(context, group_uuid, VRTIntent.RELEASE) as (
            group,
            _intent,
        ):
            if group is not None:
                guarded(self._keep, context, group)
                releasing.release(context, self._ledger(), group)

    def replan(self, context, group_uuid, elsewhere, seconds):
        """Find other places for members, for whom a server waits."""
        context = context.elevated()
        clock = clocks.Clock(seconds)
        while self._deciding.acquire(timeout=clock.left()):
            try:
                outcome = self._replan(context, group_uuid, elsewhere, clock)
            finally:
                self._deciding.release()
            if outcome != Outcome.BUSY or not clock.left():
                return outcome
            time.sleep(PAUSE)
        return Outcome.BUSY

    def _replan(self, context, group_uuid, elsewhere, clock=None):
        """Return what comes of it, once nobody else works on the group."""
        with self._owning(context, group_uuid, VRTIntent.PLAN) as (
            group,
            intent,
        ):
            if group is None:
                return Outcome.BUSY
            if not (
                group.status in states.CAN_REPLAN
                and replanning.in_need(context, group, elsewhere)
            ):
                # It was deleted, or somebody was faster.
                return Outcome.DONE
            draft = replanning.start(context, group, elsewhere)
            if draft is None:
                return Outcome.BUSY
            with self._owning(context, draft.uuid, VRTIntent.PLAN) as (
                fresh,
                own,
            ):
                if fresh is not None:
                    self._run(
                        context,
                        fresh,
                        self._revising(
                            context, fresh, group, [own, intent], clock
                        ),
                    )
        self._release_if_deleted(context, draft.uuid)
        return replanning.outcome(context, group_uuid, elsewhere)

    def propose(self, context, group_uuid):
        """Look for the fewest moves that mend a group, if there is time."""
        context = context.elevated()
        group = VRTGroup.find(context, group_uuid)
        patience = CONF.vrt.proposal_time_limit
        if group is None or not self._deciding.acquire(timeout=patience):
            return proposal.UNDECIDED
        try:
            return proposal.propose(context, group, self._placement())
        finally:
            self._deciding.release()

    def reap(self, context):
        """Finish what others began; what fails does not stop the rest.

        What has to be decided is left to plan_left().
        """
        placement = self._ledger()
        guarded(reaper.expire, context)
        for member in reaper.to_conclude(context):
            guarded(
                reaper.conclude,
                *(context, placement, member),
                about=f'member {member.path}',
            )
        for follow in reaper.to_follow():
            guarded(follow, context, placement)
        guarded(reaper.abandon, context)
        guarded(reaper.empty, context, placement)
        guarded(self._strays.empty, context, placement)
        guarded(reaper.forget_tombstones, context)
        for group in reaper.to_release(context):
            guarded(
                self.release_group,
                *(context, group.uuid),
                about=f'VRT group {group.uuid}',
            )
        guarded(self._note_drift, context)
        guarded(self._count, context)

    def plan_left(self, context):
        """Decide what nobody decides; it waits for decisions under way."""
        for group in reaper.to_plan(context):
            guarded(
                self.plan_group,
                *(context, group.uuid),
                about=f'VRT group {group.uuid}',
            )
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
        with self._deciding:
            outcome = self._replan(
                context, group.uuid, {path: elsewhere[path] for path in need}
            )
        if outcome != Outcome.BUSY:
            VRTMember.count_replan(context, group.id, need)

    @staticmethod
    def _note_drift(context):
        for group, domains in reaper.to_compare(context):
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
            guarded(self._keep, context, group)

    def _keep(self, context, group):
        exclusive.keep(context, self._ledger(), group, self._strangers)

    @contextlib.contextmanager
    def _owning(self, context, group_uuid, operation):
        """Yield the group and the intent while nobody else works on it.

        Else, or if there is no such group any more, the group is None.

        What could not be done because another was at work for long, the
        reaper does later.
        """
        try:
            group = VRTGroup.get(context, group_uuid)
            intent = VRTIntent.acquire(
                context, group, operation, self._host, CONF.vrt.lease
            )
        except (exception.GroupNotFound, exception.GroupBusy) as exc:
            LOG.info('Not now: %s', exc)
            yield None, None
            return
        try:
            # As it is now that nobody else works on it, if it is at all.
            yield VRTGroup.find(context, group_uuid), intent
        finally:
            intent.fulfil(context)

    def _plan(self, context, group, intent):
        planner = planning.Planning(
            context, group, self._placement(), self._ledger(), intent
        )
        self._run(context, group, planner)

    def _revise(self, context, draft, intent):
        """Plan what a group is to become, while nobody works on either."""
        revised = VRTGroup.brief(context, draft.revises_id)
        with self._owning(context, revised.uuid, VRTIntent.PLAN) as (
            group,
            intent_of_group,
        ):
            if group is not None:
                planner = self._revising(
                    context, draft, group, [intent, intent_of_group]
                )
                self._run(context, draft, planner)

    def _revising(self, context, draft, group, intents, clock=None):
        """Return who is to decide what becomes of a draft."""
        # Fillers count as the group's own room; what leaves does not.
        exclusive.give_back(
            context,
            self._ledger(),
            VRTHold.list_by_group(context, group.id, states.Hold.LEAVING),
        )
        given = (context, draft, group, self._placement(), self._ledger())
        if draft.elsewhere is None:
            return revising.Revising(*given, intents)
        return replanning.Replanning(*given, intents, clock=clock)

    def _run(self, context, group, planner):
        try:
            planner.clear()
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
            if planner.has_begun():
                # Not undone at once: a request may still be on its way.
                LOG.exception('A revision waits for Placement.')
                group.wait(context)
            else:
                self._fail(context, group, 'Placement did not answer.')
        except Exception:
            # If this fails as well the reaper begins anew.
            planner.clear()
            self._fail(context, group, 'An unexpected error.')

    @staticmethod
    def _fail(context, group, reason):
        """Tell the tenant what is safe to tell, the operator everything."""
        LOG.exception('VRT group %s could not be planned.', group.uuid)
        fault = f'{reason} The operator finds more under {context.request_id}.'
        with contextlib.suppress(exception.GenerationConflict):
            group.change(context, states.Group.ERROR, fault=fault)
            notifications.decided(context, group)

    def _release_if_deleted(self, context, group_uuid):
        group = VRTGroup.find(context, group_uuid)
        if group is not None and group.status == states.Group.RELEASING:
            self.release_group(context, group_uuid)

    def _placement(self):
        if self._client is None:
            self._client = report.SchedulerReportClient()
        return self._client

    def _ledger(self):
        return ledger.Ledger(self._placement())
