# SPDX-License-Identifier: Apache-2.0
"""RPC methods and periodic tasks of a planner process."""

import dataclasses
import time

from keystoneauth1 import exceptions as ks_exc
from oslo_log import log as logging
import oslo_messaging as messaging

from nova_groupext import exception
from nova_groupext import nova_releases
from nova_groupext.conf import CONF
from nova_groupext.objects import planners
from nova_groupext.objects.group import VRTGroup
from nova_groupext.scheduler import rounds
from nova_groupext.scheduler import serve
from nova_groupext.scheduler.decide import strategy
from nova_groupext.scheduler.look import kept_reading
from nova_groupext.scheduler.move import drift
from nova_groupext.scheduler.placement import changed_providers
from nova_groupext.scheduler.placement import client
from nova_groupext.scheduler.protocol import leases
from nova_groupext.solver.model import time_budget

LOG = logging.getLogger(__name__)


class Planner:
    """RPC endpoint and periodic tasks of one planner; see rpcapi.PlannerAPI.

    :param host: name of the planner's host
    :param tools: function of a PlacementClient that returns strategy.Tools
    :param is_registered: False if begin() is called after the first request
    """

    target = messaging.Target(version='1.0')

    def __init__(self, host, tools=strategy.Tools, *, is_registered=True):
        self._report_client = None
        self._make_tools = tools
        self._leases = leases.Leases(host, is_registered=is_registered)
        self._server = serve.GroupServer(self._leases, self._tools)
        # Later looks need not read this again.
        self.kept = kept_reading.KeptReading()
        # These remember what the reaper need not read again.
        self._changes = changed_providers.ChangedProviders()
        self._drift = drift.ChangedGroups()
        # Begin of the release that runs, by the monotonic clock.
        self._release_began = None

    # -- start and stop ----------------------------------------------------

    def begin(self, context):
        """Register this planner; log an error if Placement is missing."""
        self._leases.beat(context)
        try:
            self._placement_client().allocated_totals(context)
        except (exception.PlacementUnavailable, ks_exc.ClientException) as exc:
            LOG.error(
                'Placement is not available; groups are not planned until it '
                'is: %s',
                exc,
            )

    def beat(self, context):
        """Store a heartbeat, and end the leases of planners without one."""
        self._leases.beat(context)

    def end(self, context):
        """Leave all work to other planners."""
        self._leases.end(context)

    # -- RPC ---------------------------------------------------------------

    def serve_group(self, context, group_uuid):
        """Release, plan and hold whatever a group needs now."""
        context = context.elevated()
        group = VRTGroup.find_revised(context, group_uuid)
        if group is not None:
            self._server.serve(context, group)
        # Other groups may have found all slots of their planners taken.
        self.serve_waiting(context)

    def propose(self, context):
        """Compute requested proposals while slots are free."""
        self.serve_waiting(context.elevated())

    def replace_members(self, context, group_uuid, excluded_nodes, seconds):
        """Find other hosts for members whose servers wait in a scheduler.

        BUSY is returned at once, so that the scheduler may try other planners.
        """
        return self._server.replace_members(
            *(context.elevated(), group_uuid, excluded_nodes),
            time_budget.TimeBudget(seconds),
            is_urgent=True,
        )

    # -- periodic tasks ----------------------------------------------------

    def serve_waiting(self, context):
        """Serve groups that wait for a planner."""
        # One that is too old gives its memory back.
        self.kept.find()
        self._server.serve_waiting(context)

    def is_reaper(self, context):
        """Check whether the following rounds are this planner's to run."""
        return self._leases.is_reaper(context)

    def reap(self, context):
        """Finish work that other processes left."""
        is_complete = rounds.reap(
            *(context, self._placement_client(), self._leases),
            *(self._changes, self._drift),
        )
        if is_complete and not self._is_release_stuck():
            self._leases.end_round(context)

    def release(self, context):
        """Release what has ended."""
        self._release_began = time.monotonic()
        rounds.release(context, self._placement_client(), self._server)
        self._release_began = None

    def _is_release_stuck(self):
        """Check whether other planners have to release what has ended."""
        limit = planners.MAX_MISSED_ROUNDS * CONF.vrt.reap_interval
        return (
            self._release_began is not None
            and time.monotonic() - self._release_began > limit
        )

    def replace_failed(self, context):
        """Replace failed members, if the operator has enabled that."""
        rounds.replace_failed(context, self._server)

    def maintain_exclusive(self, context):
        """Fill free capacity on the exclusive hosts of groups."""
        rounds.maintain_exclusive(
            *(context, self._placement_client(), self._leases),
            self._server.logged_consumers,
        )

    def _tools(self):
        tools = self._make_tools(self._placement_client())
        return dataclasses.replace(tools, kept=self.kept)

    def _placement_client(self):
        if self._report_client is None:
            self._report_client = nova_releases.report_client()
        return client.PlacementClient(self._report_client)
