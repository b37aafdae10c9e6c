# SPDX-License-Identifier: Apache-2.0
"""HolisticFilter: restricts members of VRT groups to their hosts."""

from nova.scheduler import filters
from oslo_log import log as logging

from nova_groupext import member_ref
from nova_groupext.scheduler.move import destinations
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.placement import marked_requests

LOG = logging.getLogger(__name__)


class HolisticFilter(filters.BaseHostFilter):
    """Nova filter that passes a member's first boot on its planned host only.

    A first boot with VRT hints that did not take the redeem path was scheduled
    by a stock nova-scheduler: it would claim capacity a second time and might
    violate policies, so no host passes. For servers without VRT hints all
    hosts pass.

    For a move of a member, those hosts pass that violate the group's strict
    policies no more than they are already. If a strict exclusive policy
    includes the member, only hosts with a reservation for it pass: elsewhere
    it would not be alone, and the capacity that it leaves would be open to
    all. If its group cannot be read, all hosts pass.
    """

    def filter_all(self, filter_obj_list, spec_obj):
        """Filter all hosts at once, so that queries run once."""
        ref = member_ref.from_spec(spec_obj)
        if ref is None:
            return filter_obj_list
        hosts = list(filter_obj_list)
        planned = [host for host in hosts if self._is_planned(host)]
        if planned:
            return planned
        if not servers.is_first_boot(
            spec_obj._context, spec_obj.instance_uuid
        ):
            return destinations.allowed_hosts(
                spec_obj._context, ref, spec_obj, hosts
            )
        LOG.warning(
            'Server %(server)s has the hints of member %(member)s of VRT '
            'group %(group)s but was not scheduled by '
            'nova-groupext-scheduler; it gets no host. Replace every '
            'nova-scheduler by nova-groupext-scheduler.',
            {'server': spec_obj.instance_uuid, **ref._asdict()},
        )
        return []

    @staticmethod
    def _is_planned(host_state):
        hold = marked_requests.find_hold(host_state)
        return hold is not None and hold.provider_uuid == host_state.uuid
