# SPDX-License-Identifier: Apache-2.0
"""Nova's scheduler manager with a redeem path for members of VRT groups.

A server without VRT hints takes Nova's path; the only overhead is a look at
its hints. A move of a member takes Nova's path too, except for the claim.
"""

import copy
import functools

from nova import context as nova_context
from nova import exception as nova_exc
from nova import objects
from nova.scheduler import manager
from nova.scheduler.client import report
from oslo_log import log as logging
import oslo_messaging as messaging

from nova_groupext import exception
from nova_groupext import member_ref
from nova_groupext.db import engine
from nova_groupext.objects import states
from nova_groupext.scheduler.move import destinations
from nova_groupext.scheduler.move import resize
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.placement import client
from nova_groupext.scheduler.placement import marked_requests
from nova_groupext.scheduler.redeem import redeem_path
from nova_groupext.scheduler.redeem import reserve

LOG = logging.getLogger(__name__)


class RedeemingReportClient(report.SchedulerReportClient):
    """Nova's Placement client that does not claim a hold again.

    For a member that moves, the move is recorded before its host is claimed.
    """

    def claim_resources(
        self,
        context,
        consumer_uuid,
        alloc_request,
        project_id,
        user_id,
        allocation_request_version,
        consumer_generation=None,
    ):
        reservation = marked_requests.reservation_of(alloc_request)
        if reservation is None and isinstance(
            alloc_request, marked_requests.HoldRequest
        ):
            # The transfer follows once all servers of the request have a host.
            return True
        claim = functools.partial(
            super().claim_resources,
            context,
            consumer_uuid,
            alloc_request,
            project_id,
            user_id,
            allocation_request_version,
            consumer_generation,
        )
        if reservation is not None:
            claim = functools.partial(
                resize.claim,
                context,
                client.PlacementClient(self),
                reservation,
                consumer_uuid,
                project_id,
                user_id,
            )
        if isinstance(alloc_request, marked_requests.MoveRequest):
            return destinations.claim(context, alloc_request, claim)
        return claim()


class HolisticSchedulerManager(manager.SchedulerManager):
    """Manager of nova-scheduler; see nova_groupext.cmd.scheduler."""

    _placement_client = None

    def __init__(self, *args, **kwargs):
        engine.configure()
        super().__init__(*args, **kwargs)
        # Nova has tried it, and forks its workers next. They would read each
        # other's answers from one connection.
        self._placement_client = None

    @property
    def placement_client(self):
        """The client of this process."""
        if self._placement_client is None:
            self._placement_client = RedeemingReportClient()
        return self._placement_client

    @messaging.expected_exceptions(nova_exc.NoValidHost)
    def select_destinations(
        self,
        context,
        request_spec=None,
        filter_properties=None,
        spec_obj=manager.SchedulerManager._sentinel,
        instance_uuids=None,
        return_objects=False,
        return_alternates=False,
    ):
        """Redeem holds for a first boot with VRT hints; else call Nova."""
        ref = (
            None
            if spec_obj is self._sentinel
            else member_ref.from_spec(spec_obj)
        )
        server_uuids = ref and _server_uuids(spec_obj, instance_uuids)
        is_move = ref is not None and not servers.is_first_boot(
            context, server_uuids[0]
        )
        if is_move:
            moved = self._move(context, ref, spec_obj, instance_uuids)
            if moved:
                return [[moved]]
        if ref is None or is_move:
            return super().select_destinations(
                context,
                request_spec=request_spec,
                filter_properties=filter_properties,
                spec_obj=spec_obj,
                instance_uuids=instance_uuids,
                return_objects=return_objects,
                return_alternates=return_alternates,
            )
        with redeem_path.as_no_valid_host(ref.member):
            selections = self._redeem(context, ref, spec_obj, server_uuids)
        # No alternates: cell conductors claim them past every policy.
        return [[selection] for selection in selections]

    def _refresh(self, context, ref, server_uuid):
        """Follow the group's servers, so that the move is judged by them."""
        destinations.refresh_group(
            context.elevated(),
            client.PlacementClient(self.placement_client),
            ref,
            server_uuid,
        )

    def _move(self, context, ref, spec_obj, instance_uuids):
        """Move a server to a host where a resize reservation is held for it.

        :returns: Selection; None if nothing is reserved, or Nova's filters
            refuse the host: Nova then selects a host as usual
        """
        server_uuids = _server_uuids(spec_obj, instance_uuids)
        self._refresh(context, ref, server_uuids[0])
        try:
            return self._move_reserved(context, ref, spec_obj, server_uuids)
        except exception.UnknownPolicyType as exc:
            # The conductor expects no other error.
            raise nova_exc.NoValidHost(reason=exc) from exc

    def _move_reserved(self, context, ref, spec_obj, server_uuids):
        for reservation in resize.iter_reservations(
            context, ref, spec_obj, self.host_manager
        ):
            # Nova's request filters change a spec; Nova's path needs it.
            spec = copy.deepcopy(spec_obj)
            try:
                return self._select_held(
                    context,
                    spec,
                    *server_uuids,
                    marked_requests.ResizeRequest(reservation),
                )
            except resize.Refused:
                raise
            except nova_exc.NoValidHost:
                LOG.info(
                    'Server %s cannot use its resize reservation; another '
                    'host is tried.',
                    spec.instance_uuid,
                )
        return None

    def _redeem(self, context, ref, spec_obj, server_uuids):
        """Redeem a member for each server and return their Selections."""
        path = redeem_path.RedeemPath(
            client.PlacementClient(self.placement_client), self.host_manager
        )
        select = functools.partial(self._select_all, context, spec_obj)
        return path.run(context, ref, spec_obj, server_uuids, select)

    def _select_all(self, context, spec_obj, choices):
        """Return a Selection for each Choice.

        :raises: reserve.HostsFiltered with all that Nova's filters refuse
        """
        selections, refused = [], []
        for choice in choices:
            if choice.hold.status != states.Hold.HELD:
                # An earlier delivery of it has asked the filters.
                selections.append(
                    self._selection(context, spec_obj, choice.hold)
                )
                continue
            try:
                selections.append(
                    self._select_held(
                        context,
                        spec_obj,
                        choice.server_uuid,
                        marked_requests.HoldRequest(choice.hold),
                    )
                )
            except nova_exc.NoValidHost:
                refused.append(choice)
        if refused:
            raise reserve.HostsFiltered(refused, reserve.HOST_REFUSED)
        return selections

    def _select_held(self, context, spec_obj, server_uuid, allocation):
        hold = allocation.hold
        [[selected]] = self._select_destinations(
            context,
            spec_obj,
            [server_uuid],
            {hold.provider_uuid: [allocation]},
            marked_requests.HoldSummaries(hold),
            marked_requests.PLACEMENT_VERSION,
            return_alternates=False,
        )
        return selected

    def _selection(self, context, spec_obj, hold):
        """Return the Selection of a hold that was redeemed before."""
        host_states = self._get_all_host_states(
            context.elevated(), spec_obj, marked_requests.HoldSummaries(hold)
        )
        for host_state in host_states:
            return objects.Selection.from_host_state(
                host_state,
                marked_requests.HoldRequest(hold),
                marked_requests.PLACEMENT_VERSION,
            )
        raise nova_exc.NoValidHost(reason='the planned host no longer exists')

    def _get_alternate_hosts(
        self,
        selected_hosts,
        spec_obj,
        hosts,
        index,
        num_alts,
        alloc_reqs_by_rp_uuid=None,
        allocation_request_version=None,
        selected_alloc_reqs=None,
    ):
        """Return no alternates for a move that strict policies restrict."""
        if any(
            isinstance(each, marked_requests.MoveRequest)
            and each.move.is_bound
            for each in selected_alloc_reqs or ()
        ):
            num_alts = 0
        return super()._get_alternate_hosts(
            selected_hosts,
            spec_obj,
            hosts,
            index,
            num_alts,
            alloc_reqs_by_rp_uuid,
            allocation_request_version,
            selected_alloc_reqs,
        )

    def _get_all_host_states(self, context, spec_obj, provider_summaries):
        """Load only the hold's host for a hold, and all hosts otherwise."""
        if not isinstance(provider_summaries, marked_requests.HoldSummaries):
            return super()._get_all_host_states(
                context, spec_obj, provider_summaries
            )
        hold = provider_summaries.hold
        try:
            mapping = objects.HostMapping.get_by_host(context, hold.host)
            cell = mapping.cell_mapping
            if not _may_use_cell(spec_obj, cell):
                return iter(())
            with nova_context.target_cell(context, cell) as cctxt:
                nodes = objects.ComputeNodeList.get_all_by_uuids(
                    cctxt, [hold.provider_uuid]
                )
                # A node can have changed its host since it was held.
                services = {
                    node.host: objects.Service.get_by_compute_host(
                        cctxt, node.host
                    )
                    for node in nodes
                }
        except (nova_exc.NotFound, nova_exc.HostMappingNotFound):
            return iter(())
        return self.host_manager._get_host_states(
            context, {cell.uuid: nodes}, services
        )


def _may_use_cell(spec, cell):
    """Check what Nova's own lookup of hosts does: moves stay in their cell."""
    destination = spec.requested_destination
    if (
        destination
        and 'cell' in destination
        and destination.cell
        and not destination.allow_cross_cell_move
    ):
        return destination.cell.uuid == cell.uuid
    return not cell.disabled


def _server_uuids(spec_obj, instance_uuids):
    return instance_uuids or [spec_obj.instance_uuid]
