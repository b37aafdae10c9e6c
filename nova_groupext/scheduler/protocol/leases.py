# SPDX-License-Identifier: Apache-2.0
"""The leases and heartbeats of one planner.

Other planners take over the work of a dead one: a new planner on the same host
at once, all others after six missed heartbeats (30 seconds by default).
"""

import contextlib
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


class Leases:
    """The operations of one planner; safe to use from several threads.

    :param host: name of the planner's host
    """

    def __init__(self, host):
        self._planner = VRTPlanner(
            uuid=uuidutils.generate_uuid(),
            host=host,
            process=process_names.own(),
            revision=migration.head(),
            clock_offset=0.0,
        )
        # Operations that a thread works on.
        self._operations = set()
        # Heartbeats to wait before other planners count as dead: no planner
        # could send one while the database was unreachable.
        self._patience = 0

    def acquire(self, context, group_id, *, leaves_word):
        """Return the lease of a group, or None while another planner has it.

        :param leaves_word: whether to ask that planner to process the group
            once more before it releases the lease
        :raises: GroupNotFound
        """
        operation = uuidutils.generate_uuid()
        # First, since beat() ends leases of operations not in the set.
        self._operations.add(operation)
        acquire = VRTLease.acquire if leaves_word else VRTLease.try_to_acquire
        lease = None
        try:
            lease = acquire(
                *(context, group_id, self._planner.uuid),
                *(operation, CONF.vrt.operation_lease),
            )
        finally:
            if lease is None:
                self._operations.discard(operation)
        return lease

    @contextlib.contextmanager
    def owning(self, context, ledger, group_id):
        """Yield the lease of a group, or None while another planner has it.

        An unfinished swap is finished first. On an error the lease is not
        released: the next heartbeat ends it, and then any planner retries.

        :param ledger: PlacementClient
        :param group_id: of a group that is no draft
        """
        lease = None
        with contextlib.suppress(exception.GroupNotFound):
            lease = self.acquire(context, group_id, leaves_word=False)
        if lease is None:
            yield None
            return
        try:
            swap.finish(context, ledger, lease)
            yield lease
            swap.finish(context, ledger, lease)
            if not lease.release(context):
                # Another planner has asked for the group: the loop over
                # waiting groups acquires the lease again.
                VRTLease.end(context, [lease.operation])
        finally:
            self.lay_down(lease)

    def lay_down(self, lease):
        """Stop work under a lease; unless released, the next beat ends it."""
        self._operations.discard(lease.operation)

    def take_over(self, context):
        """End the leases of dead planner processes on this host."""
        for other in VRTPlanner.list_by_host(context, self._planner.host):
            if process_names.is_gone(other.process):
                self._bury(context, other, 'its process is gone')

    def beat(self, context):
        """Store a heartbeat and end the leases of planners that send none."""
        interval = CONF.vrt.heartbeat_interval
        self._planner.clock_offset = _clock_offset(context)
        if self._planner.is_silent(context, interval):
            self._patience = planners.MISSED
        self._planner.beat(context)
        # Read before `_operations` is: each lease read here was in it then.
        leased = VRTLease.operations(context, self._planner.uuid)
        VRTLease.end(
            context, [each for each in leased if each not in self._operations]
        )
        if self._patience:
            self._patience -= 1
            return
        for other in VRTPlanner.list_silent(context, interval):
            self._bury(context, other, 'it is not heard of any more')

    def end(self, context):
        """Delete the planner's row and end its leases: others take over."""
        self._planner.forget(context)

    @staticmethod
    def _bury(context, planner, why):
        LOG.warning(
            'The work of planner %(pid)s on %(host)s is taken over: %(why)s.',
            {
                'pid': process_names.pid_of(planner.process),
                'host': planner.host,
                'why': why,
            },
        )
        planner.forget(context)


def _clock_offset(context):
    """Return the seconds by which the database's clock is ahead of ours."""
    before = timeutils.utcnow()
    theirs = db.time(context)
    took = timeutils.utcnow() - before
    return (theirs - before - took / 2) / datetime.timedelta(seconds=1)
