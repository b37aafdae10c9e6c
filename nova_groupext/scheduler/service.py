# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-planner: a Nova-style service.

Any number may run: a lease in the database assigns a group to one of them, and
Placement arbitrates between their holds.
"""

import functools
import threading

from nova import context as nova_context
from nova import rpc
from oslo_log import log as logging
import oslo_messaging as messaging
from oslo_service import service

from nova_groupext import nova_releases
from nova_groupext.conf import CONF
from nova_groupext.db import engine
from nova_groupext.scheduler import availability
from nova_groupext.scheduler import planner
from nova_groupext.scheduler import rpcapi

LOG = logging.getLogger(__name__)


class PlannerService(service.Service):
    """Service that listens on the planners' topic and runs periodic tasks.

    Nothing is connected or started before start(), which runs in the worker.
    """

    def __init__(self, host=None):
        super().__init__()
        self._host = host or CONF.host
        self._server = None
        self._planner = None
        # A thread sends heartbeats until all work has ended; timers would not.
        self._heartbeats = threading.Thread(
            target=self._send_heartbeats, daemon=True
        )
        self._has_ended = threading.Event()

    def start(self):
        engine.configure()
        served = planner.Planner(self._host, is_registered=False)
        server = rpc.get_server(
            messaging.Target(topic=rpcapi.TOPIC, server=self._host), [served]
        )
        # First: a planner counts as running as soon as it has a heartbeat.
        # Groups of requests before that wait for serve_waiting().
        _listen(server)
        self._planner, self._server = served, server
        self._run(self._planner.begin)
        self._heartbeats.start()
        vrt = CONF.vrt
        for interval, work in (
            (vrt.heartbeat_interval, self._planner.serve_waiting),
            (vrt.reap_interval, self._planner.replace_failed),
            (vrt.exclusive_reap_interval, self._planner.maintain_exclusive),
        ):
            self._add_timer(interval, work)
        for work in (self._planner.reap, self._planner.release):
            self._add_timer(vrt.reap_interval, self._reap, work)

    def stop(self):
        """Stop after running requests and rounds have ended.

        They need Placement and the databases, which may go with the service.
        """
        if self._server is None:
            # Still waiting for the message bus.
            super().stop()
            return
        self._server.stop()
        self._server.wait()
        nova_releases.stop_timers(self.tg)
        super().stop()
        self._has_ended.set()
        if self._heartbeats.is_alive():
            self._heartbeats.join()
        self._run(self._planner.end)

    def _send_heartbeats(self):
        while not self._has_ended.wait(CONF.vrt.heartbeat_interval):
            self._run(self._planner.beat)

    def _add_timer(self, interval, work, *args):
        self.tg.add_timer(
            interval,
            functools.partial(self._run, work, *args),
        )

    def _reap(self, context, work):
        """Run a round, unless another planner does that for all."""
        if self._planner.is_reaper(context):
            availability.run_step(work, context)

    @staticmethod
    def _run(work, *args):
        context = nova_context.get_admin_context()
        # All log lines of a round carry its request id.
        context.update_store()
        availability.run_step(work, context, *args)


def _listen(server):
    """Start an RPC server; wait while the message bus is unreachable.

    :raises: SystemExit when the bus refuses the connection
    """
    try:
        server.start()
    except Exception as exc:
        # Of a class of the bus's driver.
        LOG.error(
            'The planner cannot listen on the message bus and exits: %s. '
            'Correct [DEFAULT]transport_url or the account on the bus.',
            exc,
        )
        raise SystemExit(1) from exc
