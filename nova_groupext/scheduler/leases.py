# SPDX-License-Identifier: Apache-2.0
"""The leases of one planner, and its signs of life.

Other planners take its work over when it is gone: a new one on its host at
once, all others when it was not heard of for half a minute.
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
from nova_groupext.scheduler import process
from nova_groupext.scheduler.protocol import swap

LOG = logging.getLogger(__name__)


class Leases:
    """What a planner works on; safe to use from several threads.

    :param host: name of the planner's host
    """

    def __init__(self, host):
        self._planner = VRTPlanner(
            uuid=uuidutils.generate_uuid(),
            host=host,
            process=process.own(),
            revision=migration.head(),
            clock_offset=0.0,
        )
        # Operations that some thread is at work on.
        self._operations = set()
        # Beats until others may be taken for dead: after the database was
        # away nobody was heard of for a while.
        self._patience = 0

    def acquire(self, context, group_id, *, leaves_word):
        """Return the lease of a group; None while another works on it.

        :param leaves_word: whether that one is to look at the group again
        :raises: GroupNotFound
        """
        operation = uuidutils.generate_uuid()
        # Before it is written: a beat ends what nobody works on.
        self._operations.add(operation)
        acquire = VRTLease.acquire if leaves_word else VRTLease.try_to_acquire
        lease = None
        try:
            lease = acquire(
                *(context, group_id, self._planner.uuid),
                *(operation, CONF.vrt.lease),
            )
        finally:
            if lease is None:
                self._operations.discard(operation)
        return lease

    @contextlib.contextmanager
    def owning(self, context, ledger, group_id):
        """Yield the lease of a group; None while another works on it.

        What somebody has begun is finished first. What fails is left: this or
        another planner goes on a few seconds later.

        :param ledger: ledger.Ledger
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
                # Others have left word: who serves what waits sees to it.
                VRTLease.end(context, [lease.operation])
        finally:
            self.lay_down(lease)

    def lay_down(self, lease):
        """Work no more by a lease; if it was not released, it is left."""
        self._operations.discard(lease.operation)

    def take_over(self, context):
        """Let the work begin that gone processes of this host have left."""
        for other in VRTPlanner.list_by_host(context, self._planner.host):
            if process.is_gone(other.process):
                self._bury(context, other, 'its process is gone')

    def beat(self, context):
        """Give a sign of life, and see who gives none any more."""
        interval = CONF.vrt.heartbeat_interval
        self._planner.clock_offset = _clock_offset(context)
        if self._planner.is_silent(context, interval):
            self._patience = planners.MISSED
        self._planner.beat(context)
        # Read before it is asked who works: what is read was begun before.
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
        """Leave everything to others."""
        self._planner.forget(context)

    @staticmethod
    def _bury(context, planner, why):
        LOG.warning(
            'The work of planner %(pid)s on %(host)s is taken over: %(why)s.',
            {
                'pid': process.pid_of(planner.process),
                'host': planner.host,
                'why': why,
            },
        )
        planner.forget(context)


def _clock_offset(context):
    """Return by how many seconds the database's clock is ahead of ours."""
    before = timeutils.utcnow()
    theirs = db.time(context)
    took = timeutils.utcnow() - before
    return (theirs - before - took / 2) / datetime.timedelta(seconds=1)
