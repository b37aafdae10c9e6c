# SPDX-License-Identifier: Apache-2.0
"""The reaper's rounds; reaper says what each step is for.

A failed step stops no other. Steps that make decisions have timers of their
own.
"""

from oslo_log import log as logging

from nova_groupext.conf import CONF
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import availability
from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler.decide import replacement
from nova_groupext.scheduler.follow import hold_changes
from nova_groupext.scheduler.follow import server_changes
from nova_groupext.scheduler.protocol import maintain
from nova_groupext.scheduler.protocol import redeem
from nova_groupext.scheduler.protocol import release_holds
from nova_groupext.scheduler.reap import reaper
from nova_groupext.scheduler.reap import statistics
from nova_groupext.scheduler.resize import reservations
from nova_groupext.solver.model import time_budget

LOG = logging.getLogger(__name__)


def reap(context, placement_client, leases, changes, changed_groups):
    """Run the reaper's steps 1 to 5.

    :param leases: leases.Leases of this planner
    :param changes: changed_providers.ChangedProviders, kept between rounds
    :param changed_groups: drift.ChangedGroups, kept between rounds
    :returns: whether the round was complete: Placement has answered
    """
    availability.run_step(reaper.expire, context)
    for member in redeem.list_overdue(context):
        availability.run_step(
            reaper.resolve_redeem,
            *(context, placement_client, member),
            about=f'member {member.path}',
        )
    availability.run_step(reaper.end_creates, context)
    for follow in (server_changes.follow_servers, hold_changes.follow_hosts):
        availability.run_step(follow, context, placement_client, leases)
    is_complete = availability.run_step(
        changes.begin, context, placement_client
    )
    for compare in (
        hold_changes.follow_holds,
        reservations.follow_reservations,
    ):
        availability.run_step(
            compare, context, placement_client, leases, changes
        )
    availability.run_step(changed_groups.store_drift, context)
    availability.run_step(_log_statistics, context)
    return is_complete


def release(context, placement_client, server):
    """Run steps 6 to 9: release what has ended.

    :param server: serve.GroupServer
    """
    for step in (reaper.release_ending, release_holds.check_watched):
        availability.run_step(step, context, placement_client)
    availability.run_step(reaper.purge_tombstones, context)
    for group in VRTGroup.list_releasing(context):
        availability.run_for(group, server.serve, context, group)


def replace_failed(context, server):
    """Run step 11: replace failed members.

    :param server: serve.GroupServer
    """
    for group, excluded_nodes in reaper.members_to_replace(context):
        availability.run_for(
            group, _replace, context, server, group, excluded_nodes
        )


def maintain_exclusive(context, placement_client, leases, logged_consumers):
    """Run step 12: fill free capacity on the exclusive hosts of groups.

    :param logged_consumers: foreign consumers that the log already names
    """
    for group in VRTGroup.list_exclusive(context):
        availability.run_for(
            *(group, _maintain, context, placement_client, leases, group),
            logged_consumers,
        )


def _replace(context, server, group, excluded_nodes):
    paths = replacement.members_to_replace(context, group, excluded_nodes)
    if not paths:
        return
    outcome = server.replace_members(
        context,
        group.uuid,
        {path: excluded_nodes[path] for path in paths},
        time_budget.TimeBudget(CONF.vrt.planning_time_limit),
    )
    if outcome != rpcapi.Outcome.BUSY:
        VRTMember.count_replacement(context, group.id, paths)


def _maintain(context, placement_client, leases, group, logged_consumers):
    """Maintain exclusive hosts; follow servers and repeat if needed."""
    args = (context, placement_client, leases, group, logged_consumers)
    if not maintain.acquire_and_maintain(*args):
        server_changes.follow_servers(context, placement_client, leases, group)
        maintain.acquire_and_maintain(*args)


def _log_statistics(context):
    counts = statistics.statistics(context)
    LOG.info('VRT groups: %s', statistics.line(counts))
