# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-planner: a Nova-style service of its own.

Run as many as you like: an intent in the database says who works on a group,
and Placement arbitrates between what they hold.
"""

import functools

from nova import context as nova_context
from nova import rpc
import oslo_messaging as messaging
from oslo_service import service

from nova_groupext.conf import CONF
from nova_groupext.db import engine
from nova_groupext.scheduler import planner
from nova_groupext.scheduler import rpcapi


class PlannerService(service.Service):
    """Listens on the planners' topic and reaps now and then.

    Nothing is connected or started before start(), which runs in the worker.
    """

    def __init__(self, host=None):
        super().__init__()
        self._host = host or CONF.host
        self._server = None

    def start(self):
        engine.configure()
        endpoint = planner.Planner(self._host)
        self._server = rpc.get_server(
            messaging.Target(topic=rpcapi.TOPIC, server=self._host), [endpoint]
        )
        self._server.start()
        self._repeat(CONF.vrt.reap_interval, endpoint.reap)
        self._repeat(CONF.vrt.reap_interval, endpoint.plan_left)
        self._repeat(CONF.vrt.exclusive_interval, endpoint.keep_exclusive)

    def stop(self, graceful=True):
        """Stop, by default once requests and rounds under way have ended.

        They need Placement and the databases, which may go with the service.
        """
        if self._server is not None:
            self._server.stop()
            self._server.wait()
        super().stop(graceful)

    def _repeat(self, interval, work):
        self.tg.add_timer(
            interval,
            functools.partial(self._round, work),
            initial_delay=interval,
        )

    @staticmethod
    def _round(work):
        context = nova_context.get_admin_context()
        # As with a request: all lines of a round have its id in the log.
        context.update_store()
        planner.guarded(work, context)
