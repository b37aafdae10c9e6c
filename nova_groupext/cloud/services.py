# SPDX-License-Identifier: Apache-2.0
"""Start and stop the services of the try-out cloud."""

from concurrent import futures
import contextlib

from nova import context
from nova import service
from nova.compute import rpcapi as compute_rpcapi
import nova.conf
from nova.objects import host_mapping
from nova.virt import node
from oslo_utils import importutils
from paste import deploy

from nova_groupext.cloud import driver
from nova_groupext.cloud import placement as ledger
from nova_groupext.cloud import tokens

CONF = nova.conf.CONF


def placement(state):
    """Placement as a WSGI application, behind the doorkeeper."""
    application = ledger.application(state / 'placement.conf')
    return tokens.PlacementToken(application)


def nova_api(state):
    """nova-api as a WSGI application, from the cloud's paste file."""
    return deploy.loadapp(f'config:{state}/api-paste.ini', 'osapi_compute')


class Services:
    """The running Nova services of one cloud."""

    def __init__(self, state):
        self._state = state
        self._running = []
        self._others = []

    def start(self, binary, topic, manager=None, **kwargs):
        """Start one service; ``manager`` is a class path, or Nova's own."""
        started = service.Service.create(
            binary=binary, topic=topic, manager=manager, **kwargs
        )
        started.start()
        self._running.append(started)
        # One that comes back counts as down until it first reports.
        started.service_ref.report_count += 1
        started.service_ref.save()

    def start_other(self, class_path):
        """Start a service that is none of Nova's own."""
        started = importutils.import_class(class_path)(CONF.host)
        started.start()
        self._others.append(started)

    def start_compute(self, host):
        """Start the compute of one host, known by its own name."""
        driver.HOSTS[host.name] = host
        own = self._state / 'hosts' / host.name
        own.mkdir(parents=True, exist_ok=True)
        with _as_host(host.name, own):
            self.start(
                'nova-compute',
                compute_rpcapi.RPC_TOPIC,
                host=host.name,
                topic_alt=compute_rpcapi.RPC_TOPIC_ALT,
            )

    def stop(self):
        """Stop all of them, those that are none of Nova's own first.

        What they have begun may need Nova's.
        """
        _stop(self._others)
        _stop(self._running)


def _stop(services):
    """Stop services: each waits for its threads, so side by side."""
    with futures.ThreadPoolExecutor(len(services) or 1) as pool:
        list(pool.map(lambda running: running.stop(), services))
    services.clear()


@contextlib.contextmanager
def _as_host(name, state):
    CONF.set_override('host', name)
    CONF.set_override('state_path', str(state))
    node.LOCAL_NODE_UUID = None
    try:
        yield
    finally:
        CONF.clear_override('host')
        CONF.clear_override('state_path')
        node.LOCAL_NODE_UUID = None


def map_hosts():
    """Tell the API database in which cell the new computes are."""
    host_mapping.discover_hosts(context.get_admin_context())
