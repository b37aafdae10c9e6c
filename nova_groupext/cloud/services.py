# SPDX-License-Identifier: Apache-2.0
"""Nova and Placement services of the try-out cloud: start and stop."""

from concurrent import futures
import contextlib

from nova import context
from nova import service
import nova.conf
from nova.objects import host_mapping
from nova.virt import node
from oslo_utils import importutils
from paste import deploy

from nova_groupext import nova_releases
from nova_groupext.cloud import driver
from nova_groupext.cloud import placement as placement_client
from nova_groupext.cloud import tokens

CONF = nova.conf.CONF


def placement(state):
    """Return Placement as a WSGI application behind the token filter."""
    application = placement_client.application(state / 'placement.conf')
    return tokens.PlacementToken(application)


def nova_api(state):
    """Return nova-api as a WSGI application, from the cloud's paste file."""
    return deploy.loadapp(f'config:{state}/api-paste.ini', 'osapi_compute')


class Services:
    """Running services of one cloud, except its WSGI applications."""

    def __init__(self, state):
        self._state = state
        self._running = []
        self._others = []

    def start(self, binary, topic, manager=None, **kwargs):
        """Start a Nova service; ``manager`` is a class path or None."""
        started = service.Service.create(
            binary=binary, topic=topic, manager=manager, **kwargs
        )
        nova_releases.use_threads_for_live_migrations(started.manager)
        started.start()
        self._running.append(started)
        # Report now: Nova counts a restarted service as down until it reports.
        started.service_ref.report_count += 1
        started.service_ref.save()

    def start_other(self, class_path):
        """Start an oslo.service service that is not part of Nova."""
        started = importutils.import_class(class_path)(CONF.host)
        started.start()
        self._others.append(started)

    def start_compute(self, host):
        """Start nova-compute for one host, under the name of the host."""
        nova_releases.allow_computes_in_threads()
        driver.HOSTS[host.name] = host
        host_state = self._state / 'hosts' / host.name
        host_state.mkdir(parents=True, exist_ok=True)
        with _as_host(host.name, host_state):
            self.start(
                'nova-compute',
                host=host.name,
                **nova_releases.compute_topics(),
            )

    def stop(self):
        """Stop all services, Nova's last.

        Unfinished work of the other services may need those of Nova.
        """
        _stop(self._others)
        _stop(self._running)


def _stop(services):
    """Stop services in parallel, because each waits for its threads."""
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
    """Map new computes to their cell in the API database."""
    host_mapping.discover_hosts(context.get_admin_context())
