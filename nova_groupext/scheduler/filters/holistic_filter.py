# SPDX-License-Identifier: Apache-2.0
"""HolisticFilter: members of VRT groups go where they were planned."""

from nova.scheduler import filters
from nova.scheduler import utils
from oslo_db import exception as db_exc
from oslo_log import log as logging

from nova_groupext import pointer
from nova_groupext.scheduler import candidate
from nova_groupext.scheduler import exclusive
from nova_groupext.scheduler import first_boot

LOG = logging.getLogger(__name__)


class HolisticFilter(filters.BaseHostFilter):
    """Let a member's first boot through on its planned host only.

    A first boot with our hints that did not come through the redeem door was
    scheduled by a stock nova-scheduler: it would take capacity a second time
    and perhaps break the group's policies, so it is refused. Servers without
    our hints pass without a question.

    Moves of members pass, but for those of a group with a strict policy
    `exclusive`: elsewhere they would not be alone, and what they left behind
    would be anybody's. If that cannot be found out they pass.
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
            return [] if self._is_bound(pointed, spec_obj) else hosts
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

    @staticmethod
    def _is_bound(pointed, spec_obj):
        """Tell whether a move of a member is refused."""
        server = spec_obj.instance_uuid
        if utils.request_is_rebuild(spec_obj):
            return False
        try:
            is_bound = exclusive.keeps(spec_obj._context, pointed, server)
        except db_exc.DBError:
            LOG.exception(
                'Server %s moves although its VRT group cannot be read.',
                server,
            )
            return False
        if is_bound:
            LOG.warning(
                'Server %(server)s, member %(member)s of VRT group %(group)s, '
                'cannot be moved: its group has a strict policy "exclusive".',
                {'server': server, **pointed._asdict()},
            )
        return is_bound
