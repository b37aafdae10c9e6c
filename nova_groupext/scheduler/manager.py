# SPDX-License-Identifier: Apache-2.0
"""Nova's scheduler with one more door: servers that redeem a hold.

A server without our hints takes Nova's path and costs nothing more than a
look at its hints. So do moves with our hints, but for the claim.
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

from nova_groupext import pointer
from nova_groupext.db import engine
from nova_groupext.objects import states
from nova_groupext.scheduler import candidate
from nova_groupext.scheduler import ledger
from nova_groupext.scheduler.move import moving
from nova_groupext.scheduler.redeem import elsewhere
from nova_groupext.scheduler.redeem import first_boot
from nova_groupext.scheduler.redeem import redeem
from nova_groupext.scheduler.redeem import reserving
from nova_groupext.scheduler.redeem import resizing

LOG = logging.getLogger(__name__)


class RedeemingReportClient(report.SchedulerReportClient):
    """Nova's Placement client, for which a hold is claimed already.

    A host for a member that moves is claimed after that is written down.
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
        growth = candidate.growth_of(alloc_request)
        if growth is None and isinstance(
            alloc_request, candidate.HeldAllocation
        ):
            # The swap comes once all servers of the request have a place.
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
        if growth is not None:
            claim = functools.partial(
                resizing.claim,
                context,
                ledger.Ledger(self),
                growth,
                consumer_uuid,
                project_id,
                user_id,
            )
        if isinstance(alloc_request, candidate.MovingAllocation):
            return moving.claim(context, alloc_request, claim)
        return claim()


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
        is_move = pointed is not None and self._is_move(
            context, pointed, spec_obj, instance_uuids
        )
        resized = is_move and self._resize(context, spec_obj, instance_uuids)
        if resized:
            return [[resized]]
        if pointed is None or is_move:
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
            selections = self._redeem(
                context, pointed, spec_obj, _uuids(spec_obj, instance_uuids)
            )
        # One each: cell conductors claim alternates past every policy.
        return [[selection] for selection in selections]

    def _is_move(self, context, pointed, spec_obj, instance_uuids):
        """Tell whether a server of ours has been there; if so, see where."""
        [server_uuid, *_] = _uuids(spec_obj, instance_uuids)
        if first_boot.is_first_boot(context, server_uuid):
            return False
        moving.catch_up(
            context.elevated(),
            ledger.Ledger(self.placement_client),
            pointed,
            server_uuid,
        )
        return True

    def _resize(self, context, spec_obj, instance_uuids):
        """Resize a server to where room is held for that.

        :returns: Selection; None if nothing is held, or Nova's filters refuse
            the host: then it goes where there is room
        """
        growth = resizing.find(context, spec_obj, self.host_manager)
        if growth is None:
            return None
        # Nova's request filters have not seen it yet, and may have to.
        spec = copy.deepcopy(spec_obj)
        try:
            return self._select_held(
                context,
                spec,
                *_uuids(spec, instance_uuids),
                candidate.GrowthAllocation(growth),
            )
        except resizing.Refused:
            raise
        except nova_exc.NoValidHost:
            LOG.info(
                'Server %s cannot be resized to where room is held for that.',
                spec.instance_uuid,
            )
            return None

    def _redeem(self, context, pointed, spec_obj, server_uuids):
        """Redeem a member for each server and return their Selections.

        All or none, as Nova does. A member whose host is refused is of no
        use; where others will do as well, one of them is taken, else a
        planner is asked for other places.
        """
        door = redeem.RedeemDoor(
            ledger.Ledger(self.placement_client), self.host_manager
        )
        search = elsewhere.Search(context, pointed.group)
        refused, why = {}, None
        while True:
            try:
                places = door.choose(
                    context, pointed, spec_obj, server_uuids, refused
                )
                selections = self._select_all(context, spec_obj, places)
                door.redeem(context, spec_obj, places)
                return selections
            except reserving.Taken:
                door.wait(pointed.member)
            except reserving.HostsRefused as exc:
                refused |= {place.member.id: place for place in exc.places}
                why = exc.why
            except reserving.TooFewPass as exc:
                search.find([*refused.values()][: exc.missing], why)
                refused = {}

    def _select_all(self, context, spec_obj, places):
        """Return a Selection for each place; who is refused is told at once.

        :raises: reserving.HostsRefused
        """
        selections, refused = [], []
        for place in places:
            if place.hold.status != states.Hold.HELD:
                # Another delivery of the request has asked the filters.
                selections.append(
                    self._selection(context, spec_obj, place.hold)
                )
                continue
            try:
                selections.append(
                    self._select_held(
                        context,
                        spec_obj,
                        place.server_uuid,
                        candidate.HeldAllocation(place.hold),
                    )
                )
            except nova_exc.NoValidHost:
                refused.append(place)
        if refused:
            raise reserving.HostsRefused(refused, reserving.HOST_REFUSED)
        return selections

    def _select_held(self, context, spec_obj, server_uuid, allocation):
        hold = allocation.hold
        [[selected]] = self._select_destinations(
            context,
            spec_obj,
            [server_uuid],
            {hold.provider_uuid: [allocation]},
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
        """Return no alternates to a move that strict policies are about."""
        if any(
            isinstance(each, candidate.MovingAllocation) and each.move.is_bound
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
        except (nova_exc.NotFound, nova_exc.HostMappingNotFound):
            return iter(())
        return self.host_manager._get_host_states(
            context, {cell.uuid: nodes}, {hold.host: service}
        )


def _uuids(spec_obj, instance_uuids):
    return instance_uuids or [spec_obj.instance_uuid]
