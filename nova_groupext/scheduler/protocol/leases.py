# SPDX-License-Identifier: Apache-2.0
"""The leases and heartbeats of one planner.

Other planners take over the work of a dead one: a new planner on the same host
at once, all others after six missed heartbeats (30 seconds by default).
"""

import contextlib
import dataclasses
import datetime

from oslo_log import log as logging
from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import migration
from nova_groupext.objects import planners
from nova_groupext.objects.lease import VRTLease
from nova_groupext.objects.planners import VRTPlanner
from nova_groupext.scheduler import process_names
from nova_groupext.scheduler.protocol import swap

LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class OwnLease:
    """The lease that a planner has, for a step that takes it by itself."""

    lease: VRTLease

    def owning(self, *_args):
        return contextlib.nullcontext(self.lease)


class Leases:
    """The operations of one planner; safe to use from several threads.

    :param host: name of the planner's host
    :param is_registered: False if the first heartbeat registers the planner;
        until then it gets no lease. If it died with one, other planners could
        not see that it is dead, and would wait for the end of the lease.
    """

    def __init__(self, host, *, is_registered=True):
        self._planner = VRTPlanner(
            uuid=uuidutils.generate_uuid(),
            host=host,
            process=process_names.own(),
            revision=migration.head(),
            clock_offset=0.0,
        )
        self._is_registered = is_registered
        # True once this planner has taken over the work of ended ones.
        self._has_taken_over = False
        # Operations that a thread works on.
        self._operations = set()
        # Heartbeats to wait before other planners count as dead: no planner
        # could send one while the database was unreachable.
        self._grace_rounds = 0

    def acquire(self, context, group_id, *, wakes_owner):
        """Return the lease of a group, or None while another planner has it.

        A planner that is not registered yet gets None, too.

        :param wakes_owner: whether to ask that planner to process the group
            once more before it releases the lease
        :raises: GroupNotFound
        """
        if not self._is_registered:
            return None
        operation = uuidutils.generate_uuid()
        # First, since beat() ends leases of operations not in the set.
        self._operations.add(operation)
        lease = None
        try:
            lease = VRTLease.acquire(
                *(context, group_id, self._planner.uuid),
                *(operation, CONF.vrt.operation_lease),
                wakes_owner=wakes_owner,
            )
        finally:
            if lease is None:
                self._operations.discard(operation)
        return lease

    @contextlib.contextmanager
    def owning(self, context, placement_client, group_id, *, serve=None):
        """Yield the lease of a group, or None while another planner has it.

        An unfinished swap is finished first. On an error the lease is not
        released: the next heartbeat ends it, and then any planner retries.

        :param group_id: of a group that is no draft
        :param serve: function of the lease; called before the release, as long
            as other planners ask for the group. Also, a planner that has the
            group now is asked to serve it once more
        """
        lease = None
        with contextlib.suppress(exception.GroupNotFound):
            lease = self.acquire(
                context, group_id, wakes_owner=serve is not None
            )
        if lease is None:
            yield None
            return
        try:
            swap.finish(context, placement_client, lease)
            yield lease
            swap.finish(context, placement_client, lease)
            while not lease.release(context):
                if serve is None:
                    # The loop over waiting groups acquires the lease again.
                    VRTLease.end_all(context, [lease.operation])
                    break
                serve(lease)
                swap.finish(context, placement_client, lease)
        finally:
            self.drop(lease)

    def drop(self, lease):
        """Stop work under a lease; unless released, the next beat ends it."""
        self._operations.discard(lease.operation)

    def beat(self, context):
        """Store a heartbeat, and end the leases of dead planners.

        Those are planners that send none, and with the first heartbeat those
        of this host whose processes have ended.
        """
        interval = CONF.vrt.heartbeat_interval
        self._planner.clock_offset = _clock_offset(context)
        if self._planner.is_dead(context, interval):
            self._grace_rounds = planners.MAX_MISSED_HEARTBEATS
        self._planner.store_heartbeat(context)
        self._is_registered = True
        # Read before `_operations` is: each lease read here was in it then.
        leased = VRTLease.list_operations(context, self._planner.uuid)
        VRTLease.end_all(
            context, [each for each in leased if each not in self._operations]
        )
        if not self._has_taken_over:
            self._take_over(context)
            self._has_taken_over = True
        if self._grace_rounds:
            self._grace_rounds -= 1
            return
        for other in VRTPlanner.list_dead(context, interval):
            self._remove_dead(context, other, 'it sends no heartbeats')

    def _take_over(self, context):
        """End the leases of ended planner processes on this host."""
        for other in VRTPlanner.list_by_host(context, self._planner.host):
            if process_names.is_gone(other.process):
                self._remove_dead(context, other, 'its process has ended')

    def end_round(self, context):
        """Store that the reaper of this planner ends a complete round."""
        self._planner.end_round(context)

    def is_reaper(self, context):
        """Check whether the reaper of this planner runs for all planners."""
        return self._planner.is_reaper(context, CONF.vrt.reap_interval)

    def end(self, context):
        """Delete the planner's row and end its leases: others take over."""
        self._planner.remove(context)

    @staticmethod
    def _remove_dead(context, planner, reason):
        LOG.warning(
            'Taking over the work of planner %(pid)s on %(host)s: %(why)s.',
            {
                'pid': process_names.pid_of(planner.process),
                'host': planner.host,
                'why': reason,
            },
        )
        planner.remove(context)


def _clock_offset(context):
    """Return the seconds by which the database's clock is ahead of ours."""
    before = timeutils.utcnow()
    database_time = db.time(context)
    round_trip = timeutils.utcnow() - before
    return (database_time - before - round_trip / 2) / datetime.timedelta(
        seconds=1
    )
