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
from nova_groupext.scheduler.follow import server_changes
from nova_groupext.scheduler.move import drift
from nova_groupext.scheduler.protocol import maintain
from nova_groupext.scheduler.reap import reaper
from nova_groupext.scheduler.reap import statistics
from nova_groupext.solver.model import time_budget

LOG = logging.getLogger(__name__)


def reap(context, placement_client, leases, changes, server):
    """Run the reaper's steps 1 to 9.

    :param placement_client: PlacementClient
    :param leases: leases.Leases of this planner
    :param changes: changed_providers.ChangedProviders, kept between rounds
    :param server: serve.GroupServer
    """
    availability.run_step(reaper.expire, context)
    for member in reaper.list_stuck_redeems(context):
        availability.run_step(
            reaper.resolve_redeem,
            *(context, placement_client, member),
            about=f'member {member.path}',
        )
    for follow_step in reaper.follow_steps():
        availability.run_step(follow_step, context, placement_client, leases)
    availability.run_step(changes.begin, context, placement_client)
    for compare_step in reaper.compare_steps():
        availability.run_step(
            compare_step, context, placement_client, leases, changes
        )
    availability.run_step(reaper.release_ending, context, placement_client)
    availability.run_step(reaper.check_watched, context, placement_client)
    availability.run_step(reaper.purge_tombstones, context)
    for group in VRTGroup.list_releasing(context):
        availability.run_for(group, server.serve, context, group)
    for group, domains in reaper.list_with_policies(context):
        availability.run_for(group, drift.store, context, group, domains)
    availability.run_step(_log_statistics, context)


def replace_failed(context, server):
    """Run step 11: replace failed members.

    :param server: serve.GroupServer
    """
    for group, excluded_hosts in reaper.members_to_replace(context):
        availability.run_for(
            group, _replace, context, server, group, excluded_hosts
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


def _replace(context, server, group, excluded_hosts):
    paths = replacement.members_to_replace(context, group, excluded_hosts)
    if not paths:
        return
    outcome = server.replace_members(
        context,
        group.uuid,
        {path: excluded_hosts[path] for path in paths},
        time_budget.TimeBudget(CONF.vrt.planning_time_limit),
    )
    if outcome != rpcapi.Outcome.BUSY:
        VRTMember.count_replacement(context, group.id, paths)


def _maintain(context, placement_client, leases, group, logged_consumers):
    """Maintain exclusive hosts; follow servers and repeat if needed."""
    args = (context, placement_client, leases, group, logged_consumers)
    if not _maintain_once(*args):
        server_changes.follow_servers(context, placement_client, leases, group)
        _maintain_once(*args)


def _maintain_once(context, placement_client, leases, group, logged_consumers):
    """Return what maintain.maintain() does; True without lease or group."""
    with leases.owning(context, placement_client, group.id) as lease:
        group = lease and VRTGroup.find(context, group.uuid)
        return group is None or maintain.maintain(
            context, placement_client, lease, group, logged_consumers
        )


def _log_statistics(context):
    counts = statistics.statistics(context)
    LOG.info('VRT groups: %s', statistics.line(counts))
