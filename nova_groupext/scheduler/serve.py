# SPDX-License-Identifier: Apache-2.0
"""Work of a planner on one group, under the group's lease.

1. Acquire the lease; while another planner has it, ask that planner instead.
2. Finish a swap that a planner has left unfinished.
3. Release what the group no longer needs.
4. If the group or its draft is PLANNING and a slot is free, decide it.
5. Release what the decision has replaced.
6. Place the members of servers that wait: see decide/creates.py.
7. Release the lease. If another planner has asked for the group meanwhile,
   start again with 3.

A planner that dies leaves its lease, which ends; another planner then starts
with 1. A group that finds no slot waits: each planner that ends a decision
looks for the next group, and projects take turns.
"""

import contextlib
import functools

from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.db import database_errors
from nova_groupext.objects import states
from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.proposal import VRTProposal
from nova_groupext.scheduler import availability
from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler.decide import creates
from nova_groupext.scheduler.decide import deadlines
from nova_groupext.scheduler.decide import decide
from nova_groupext.scheduler.decide import first_plan
from nova_groupext.scheduler.decide import propose
from nova_groupext.scheduler.decide import replacement
from nova_groupext.scheduler.decide import results
from nova_groupext.scheduler.decide import revision
from nova_groupext.scheduler.decide import slots
from nova_groupext.scheduler.decide import strategy
from nova_groupext.scheduler.protocol import swap
from nova_groupext.scheduler.release import release_group

LOG = logging.getLogger(__name__)

Outcome = rpcapi.Outcome

# Fault texts of a group that stays PLANNING while a service is unavailable.
QUOTA_SILENT = (
    'A service that knows the quota does not answer; the group will be '
    'planned when it is available.'
)
PLACEMENT_SILENT = (
    'Placement does not answer; the group will be planned when Placement is '
    'available.'
)


class GroupServer:
    """Server of groups, one per planner; safe to use from several threads.

    :param leases: leases.Leases
    :param tools: function that returns the strategy.Tools
    """

    def __init__(self, leases, tools):
        self._leases = leases
        self._tools = tools
        self._slots = slots.Slots(CONF.vrt.max_concurrent_plans)
        # (group uuid, host, consumer) of the foreign consumers on exclusive
        # hosts that the log already names.
        self.logged_consumers = set()

    # -- groups that wait --------------------------------------------------

    def serve_waiting(self, context):
        """Serve groups that wait for a planner, or that another planner left.

        Projects take turns. A group without a free slot keeps waiting.
        """
        for group in VRTGroup.list_abandoned(context):
            availability.run_for(group, self.serve, context, group)
        tried = set()
        # More groups may start to wait while one is planned.
        while (item := self._next_in_turn(context, tried)) is not None:
            work, group = item
            tried.add((work, group.id))
            availability.run_for(group, work, context, group)

    def _next_in_turn(self, context, tried):
        """Return the next (function, VRTGroup) that gets a slot, or None.

        :param tried: {(function, group id)} served in this round
        """
        to_plan = [
            (self.serve, group) for group in VRTGroup.list_to_plan(context)
        ]
        to_propose = [
            (self._propose, group)
            for group in VRTProposal.list_waiting(context)
        ]
        urgent = VRTCreate.groups_with_open(context) if to_plan else ()
        waiting = [
            (group.project_id, (work, group))
            for work, group in (*to_plan, *to_propose)
            if (work, group.id) not in tried
            and self._slots.admits(
                group.project_id, is_urgent=group.id in urgent
            )
        ]
        return next(iter(self._slots.in_turn(waiting)), None)

    def _propose(self, context, group):
        """Compute the proposal of a group if a slot is free."""
        with self._slots.take(group.project_id) as is_taken:
            if is_taken:
                propose.propose(context, group, self._tools().placement_client)

    # -- one group ---------------------------------------------------------

    def serve(self, context, group):
        """Serve a group, or ask the planner that has its lease to do so.

        :param group: VRTGroup that is not a draft
        """
        with (
            availability.skip_unavailable(f'VRT group {group.uuid}'),
            self._leases.owning(
                *(context, self._tools().placement_client, group.id),
                serve=lambda lease: self._serve(context, group, lease),
            ) as lease,
        ):
            if lease is not None:
                self._serve(context, group, lease)

    def _serve(self, context, group, lease):
        """Release and plan whatever a group and its draft need now."""
        self._release(context, group.uuid, lease)
        if self._plan(context, group.id, lease):
            self._release(context, group.uuid, lease)
        self._place_creates(context, group.id, lease)

    def _release(self, context, group_uuid, lease):
        """Release holds that a group no longer needs; all if it is deleted."""
        group = VRTGroup.find(context, group_uuid)
        if group is not None:
            release_group.release(
                *(context, self._tools().placement_client, lease, group),
                self.logged_consumers,
            )

    def _plan(self, context, group_id, lease):
        """Plan a group or its draft, if one of them is PLANNING.

        :returns: False when nothing is PLANNING, or no slot is free: the group
            then keeps waiting
        """
        row = VRTGroup.find_by_id(context, group_id)
        if row is None:
            return False
        draft = VRTGroup.drafts_by_group(context, [group_id]).get(group_id)
        if draft is not None and creates.is_abandoned(draft):
            draft.mark_deleted(context)
            draft = None
        is_new = row.status == states.Group.PLANNING
        if not is_new and (
            draft is None or draft.status != states.Group.PLANNING
        ):
            return False
        with self._slots.take(row.project_id) as is_taken:
            if is_taken:
                group = VRTGroup.get_by_id(context, group_id)
                deadline = deadlines.Deadline(
                    context, lease, CONF.vrt.planning_time_limit
                )
                self._decide(
                    strategy.Work(context, group, lease, deadline)
                    if is_new
                    else strategy.Work(context, draft, lease, deadline, group)
                )
            return is_taken

    # -- creates -----------------------------------------------------------

    def _place_creates(self, context, group_id, lease):
        """Place the members for all open creates of a group."""
        group = VRTGroup.find_by_id(context, group_id)
        if group is None or group.status not in states.GROUP_REPLACEABLE:
            return
        for _attempt in range(CONF.vrt.planning_attempts):
            if not VRTCreate.list_open(context, group.id):
                return
            with self._slots.take(
                group.project_id, is_urgent=True
            ) as is_taken:
                if not is_taken:
                    return
                with contextlib.suppress(
                    exception.GenerationConflict, exception.GroupNotFound
                ):
                    creates.place_open(
                        *(context, self._tools().placement_client),
                        *(lease, group),
                        functools.partial(self._place_members, context),
                    )

    def _place_members(self, context, group, lease, draft):
        """Decide a draft that places members for creates."""
        deadline = deadlines.Deadline(
            context, lease, CONF.vrt.redeem_replacement_time_limit
        )
        to_place = frozenset(draft.excluded_nodes)
        self._decide(
            strategy.Work(context, draft, lease, deadline, group, to_place)
        )
        self._release(context, group.uuid, lease)

    # -- replacements ------------------------------------------------------

    def replace_members(
        self, context, group_uuid, excluded_nodes, budget, *, is_urgent=False
    ):
        """Find other hosts for members of a group.

        :param excluded_nodes: {path: [node, ...]}, see VRTGroup.excluded_nodes
        :param budget: time_budget.TimeBudget
        :param is_urgent: whether a server waits for the result
        :returns: the Outcome; BUSY if no slot or no lease is available
        """
        group = VRTGroup.find(context, group_uuid)
        if group is None:
            return Outcome.DONE
        with self._slots.take(
            group.project_id, is_urgent=is_urgent
        ) as is_taken:
            if not is_taken:
                return Outcome.BUSY
            with self._leases.owning(
                context, self._tools().placement_client, group.id
            ) as lease:
                if lease is None:
                    return Outcome.BUSY
                return self._replace(
                    context, group_uuid, excluded_nodes, lease, budget
                )

    def _replace(self, context, group_uuid, excluded_nodes, lease, budget):
        # Placeholder allocations count as the group's own capacity.
        self._release(context, group_uuid, lease)
        group = VRTGroup.find(context, group_uuid)
        if not (
            group
            and group.status in states.GROUP_REPLACEABLE
            and replacement.members_to_replace(context, group, excluded_nodes)
        ):
            # The group was deleted, or another planner was faster.
            return Outcome.DONE
        draft = replacement.start(context, group, excluded_nodes)
        if draft is None:
            return Outcome.BUSY
        deadline = deadlines.Deadline(context, lease, budget.remaining())
        self._decide(strategy.Work(context, draft, lease, deadline, group))
        self._release(context, group_uuid, lease)
        return replacement.outcome(context, group_uuid, excluded_nodes)

    # -- one decision ------------------------------------------------------

    def _decide(self, work):
        """Decide a group or a draft, and handle errors.

        :param work: strategy.Work
        :raises: PlacementUnavailable, or a database error: nothing is lost,
            the group is planned when the service answers again
        """
        tools = self._tools()
        try:
            decide.decide(
                work,
                revision.STRATEGY if work.revised else first_plan.STRATEGY,
                tools,
            )
        except (
            exception.GenerationConflict,
            exception.GroupBusy,
            # The rows were removed; of a draft perhaps because it is in force.
            exception.GroupNotFound,
        ) as exc:
            LOG.info(
                'The plan of VRT group %(group)s is dropped: %(why)s',
                {'group': work.group.uuid, 'why': exc},
            )
        except exception.LimitExceeded as exc:
            _fail(work, exc.format_message())
        except exception.QuotaUnavailable:
            work.group.store_fault(work.context, QUOTA_SILENT)
            raise
        except exception.PlacementUnavailable:
            work.group.store_fault(work.context, PLACEMENT_SILENT)
            raise
        except database_errors.ANY:
            raise
        except Exception:
            LOG.exception(
                'VRT group %s could not be planned.', work.group.uuid
            )
            _fail_unless_applied(work, tools.placement_client)


def _fail_unless_applied(work, placement_client):
    """Finish a swap, and set the group to ERROR if there was none.

    After an applied swap the group is already as it was to become.
    """
    side = swap.finish(work.context, placement_client, work.lease)
    if side != swap.Side.APPLIED:
        _fail(
            work,
            'An unexpected error occurred. The operator can find it in the '
            f'log under {work.context.request_id}.',
        )


def _fail(work, fault):
    """Set a group or a draft to ERROR with a fault that its tenant may see."""
    with contextlib.suppress(exception.GenerationConflict):
        results.conclude(work, states.Group.ERROR, fault)
