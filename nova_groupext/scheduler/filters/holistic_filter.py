# SPDX-License-Identifier: Apache-2.0
"""HolisticFilter: members of VRT groups go where they were planned."""

from nova.scheduler import filters
from oslo_log import log as logging

from nova_groupext import pointer
from nova_groupext.scheduler import candidate
from nova_groupext.scheduler.move import moving
from nova_groupext.scheduler.redeem import first_boot

LOG = logging.getLogger(__name__)


class HolisticFilter(filters.BaseHostFilter):
    """Let a member's first boot through on its planned host only.

    A first boot with our hints that did not come through the redeem door was
    scheduled by a stock nova-scheduler: it would take capacity a second time
    and perhaps break the group's policies, so it is refused. Servers without
    our hints pass without a question.

    A move of a member passes on the hosts where the strict policies of its
    group are kept, or broken no more than they are already. None passes where
    a strict policy `exclusive` is about it: elsewhere it would not be alone,
    and what it left behind would be anybody's. If its group cannot be read,
    all hosts pass.
    """

    def filter_all(self, filter_obj_list, spec_obj):
        """Look at all hosts at once: what is asked is asked once."""
        pointed = pointer.of(spec_obj)
        if pointed is None:
            return filter_obj_list
        hosts = list(filter_obj_list)
        planned = [host for host in hosts if self._is_planned(host)]
        if planned:
            return planned
        if not first_boot.is_first_boot(
            spec_obj._context, spec_obj.instance_uuid
        ):
            return moving.permitted(
                spec_obj._context, pointed, spec_obj, hosts
            )
        LOG.warning(
            'Server %(server)s points to member %(member)s of VRT group '
            '%(group)s but did not come through nova-groupext-scheduler. '
            'Every nova-scheduler has to be replaced by it.',
            {'server': spec_obj.instance_uuid, **pointed._asdict()},
        )
        return []

    @staticmethod
    def _is_planned(host_state):
        hold = candidate.of(host_state)
        return hold is not None and hold.host == host_state.host
