# SPDX-License-Identifier: Apache-2.0
"""Nova's scheduler with one more door: servers that redeem a hold.

A server without our hints takes Nova's path and costs nothing more than a
look at its hints.
"""

from nova import context as nova_context
from nova import exception as nova_exc
from nova import objects
from nova.scheduler import manager
from nova.scheduler.client import report
import oslo_messaging as messaging

from nova_groupext import exception
from nova_groupext import pointer
from nova_groupext.db import engine
from nova_groupext.objects import states
from nova_groupext.scheduler import candidate
from nova_groupext.scheduler import first_boot
from nova_groupext.scheduler import ledger
from nova_groupext.scheduler import redeem


class RedeemingReportClient(report.SchedulerReportClient):
    """Nova's Placement client, for which claiming a hold is a swap."""

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
        if isinstance(alloc_request, candidate.HeldAllocation):
            return ledger.Ledger(self).swap(
                context, alloc_request.hold, consumer_uuid, project_id, user_id
            )
        return super().claim_resources(
            context,
            consumer_uuid,
            alloc_request,
            project_id,
            user_id,
            allocation_request_version,
            consumer_generation,
        )


class HolisticSchedulerManager(manager.SchedulerManager):
    """nova-scheduler's manager; see nova_groupext.cmd.scheduler."""

    _placement_client = None

    def __init__(self, *args, **kwargs):
        engine.configure()
        super().__init__(*args, **kwargs)

    @property
    def placement_client(self):
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
        """Redeem a hold for a first boot with our hints; else Nova's path."""
        pointed = None if spec_obj is self._sentinel else pointer.of(spec_obj)
        if pointed is None or not self._is_first_boot(
            context, spec_obj, instance_uuids
        ):
            return super().select_destinations(
                context,
                request_spec=request_spec,
                filter_properties=filter_properties,
                spec_obj=spec_obj,
                instance_uuids=instance_uuids,
                return_objects=return_objects,
                return_alternates=return_alternates,
            )
        with redeem.explained(pointed.member):
            return [self._redeem(context, pointed, spec_obj, instance_uuids)]

    @staticmethod
    def _is_first_boot(context, spec_obj, instance_uuids):
        uuids = instance_uuids or [spec_obj.instance_uuid]
        return first_boot.is_first_boot(context, uuids[0])

    def _redeem(self, context, pointed, spec_obj, instance_uuids):
        """Return the server's one Selection, in a list; no alternates.

        Cell conductors claim alternates themselves, past every policy.
        """
        if instance_uuids and len(instance_uuids) > 1:
            raise nova_exc.NoValidHost(reason='a member is one server')
        server_uuid = (instance_uuids or [spec_obj.instance_uuid])[0]
        door = redeem.RedeemDoor(
            ledger.Ledger(self.placement_client), self.host_manager
        )
        member, hold = door.enter(context, pointed, spec_obj, server_uuid)
        if hold.status == states.Hold.REDEEMED:
            return [self._selection(context, spec_obj, hold)]
        try:
            selected = self._select_held(context, spec_obj, server_uuid, hold)
            redeem.close(context, door.ledger, member, hold)
        except nova_exc.NoValidHost:
            door.turn_back(context, member, hold, redeem.HOST_REFUSED)
            selected = [self._selection(context, spec_obj, hold)]
        except exception.PlacementUnavailable:
            door.turn_back(context, member, hold, redeem.NO_ANSWER)
            selected = [self._selection(context, spec_obj, hold)]
        return selected

    def _select_held(self, context, spec_obj, server_uuid, hold):
        [selected] = self._select_destinations(
            context,
            spec_obj,
            [server_uuid],
            {hold.provider_uuid: [candidate.HeldAllocation(hold)]},
            candidate.HeldProvider(hold),
            candidate.PLACEMENT_VERSION,
            return_alternates=False,
        )
        return selected

    def _selection(self, context, spec_obj, hold):
        """Say again what was said when the hold was swapped."""
        states_of_host = self._get_all_host_states(
            context.elevated(), spec_obj, candidate.HeldProvider(hold)
        )
        for host_state in states_of_host:
            return objects.Selection.from_host_state(
                host_state,
                candidate.HeldAllocation(hold),
                candidate.PLACEMENT_VERSION,
            )
        raise nova_exc.NoValidHost(reason='the planned host is gone')

    def _get_all_host_states(self, context, spec_obj, provider_summaries):
        """Load the hold's host alone; everything, for everybody else."""
        if not isinstance(provider_summaries, candidate.HeldProvider):
            return super()._get_all_host_states(
                context, spec_obj, provider_summaries
            )
        hold = provider_summaries.hold
        try:
            mapping = objects.HostMapping.get_by_host(context, hold.host)
            cell = mapping.cell_mapping
            with nova_context.target_cell(context, cell) as cctxt:
                nodes = objects.ComputeNodeList.get_all_by_uuids(
                    cctxt, [hold.provider_uuid]
                )
                service = objects.Service.get_by_compute_host(cctxt, hold.host)
        except nova_exc.NotFound:
            return iter(())
        return self.host_manager._get_host_states(
            context, {cell.uuid: nodes}, {hold.host: service}
        )
