# SPDX-License-Identifier: Apache-2.0
"""The try-out cloud: its start, its clients and its stop."""

import contextlib
import pathlib

from keystoneauth1 import adapter
from nova.conductor import rpcapi as conductor_rpcapi
from nova.scheduler import rpcapi as scheduler_rpcapi
import novaclient
from novaclient import client as nova_client
import openstack
from openstack.config import loader

from nova_groupext.cloud import accounts
from nova_groupext.cloud import components
from nova_groupext.cloud import config
from nova_groupext.cloud import databases
from nova_groupext.cloud import errors
from nova_groupext.cloud import hosts as host_descriptions
from nova_groupext.cloud import identity
from nova_groupext.cloud import image
from nova_groupext.cloud import network
from nova_groupext.cloud import process
from nova_groupext.cloud import seed_data
from nova_groupext.cloud import services
from nova_groupext.cloud import state
from nova_groupext.cloud import web

PLACEMENT_MICROVERSION = '1.39'


def _ignore(*args):
    """Ignore a progress message, or do nothing at a checkpoint."""


class Cloud:
    """A complete Nova and Placement in this process.

    The directory ``state_dir`` contains all state. The cloud creates it if
    necessary and never removes it; a restart continues with its contents.
    Users are ``admin``, ``demo`` and ``other``, each in the project of the
    same name, and ``demo-manager`` and ``demo-reader`` in project ``demo``.

    A running cloud owns its directory, and Nova's configuration, message bus
    and database sessions in its process. The start of a second cloud in
    either raises :class:`~nova_groupext.cloud.errors.CannotStart`.
    """

    def __init__(
        self,
        state_dir,
        hosts=None,
        parts=components.STOCK,
        port=0,
        report=_ignore,
        checkpoint=_ignore,
    ):
        """Configure a cloud; :meth:`start` starts it.

        :param hosts: :class:`~nova_groupext.cloud.hosts.Host`, default: twelve
        :param report: function called with a message at each step of the start
        :param checkpoint: function called often during the start, which ends
            with the exception that it raises
        """
        self.state = pathlib.Path(state_dir).resolve()
        self.hosts = (
            host_descriptions.evenly() if hosts is None else list(hosts)
        )
        self._parts = parts
        self._port = port
        self._report = report
        self._checkpoint = checkpoint
        self._connections = {}
        self._running = contextlib.ExitStack()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *failure):
        self.stop()

    @property
    def clouds_yaml(self):
        """Path of the ``clouds.yaml`` that OpenStack's clients read."""
        return self.state / 'clouds.yaml'

    @property
    def log(self):
        """Path of the log that all services share."""
        return self.state / 'cloud.log'

    def start(self):
        """Start all services; on return every compute accepts servers.

        :raises errors.CannotStart: if a compute has no inventory, or the
            process, the directory or the port is unavailable
        """
        with contextlib.ExitStack() as stack:
            self._start_web(stack)
            stack.callback(self._disconnect)
            self._start_databases(stack)
            running = self._start_services(stack)
            self._start_api()
            for class_path in self._parts.services:
                self._begin(f'Starting {class_path.rpartition(".")[2]}')
                running.start_other(class_path)
            self._running = stack.pop_all()

    def stop(self):
        """Stop all services and reset the global state of the process."""
        self._running.close()

    def _start_web(self, stack):
        self._begin('Starting the HTTP server and the stub services')
        stack.enter_context(process.exclusive())
        stack.enter_context(state.own(self.state))
        accounts.load_secret(self.state / 'secret')
        self._web = web.Server(self._port)
        stack.callback(self._web.stop)
        self.url = self._web.url
        self._identity = identity.Identity(self.url)
        self._web.mount('identity', self._identity)
        self._web.mount('image', image.Images(self.url))
        self._web.mount('network', network.Networks(self.url))
        self._web.start()

    def _start_databases(self, stack):
        self._begin('Creating the databases')
        stack.enter_context(databases.fresh_facades())
        stack.enter_context(databases.one_writer_each())
        stack.enter_context(databases.pooled_connections())
        databases.create(self.state)
        config.write(
            self.state, self.url, databases.urls(self.state), self._parts
        )
        stack.enter_context(process.configured(self.state))
        databases.sync(self.state)
        self._parts.prepare(stack)

    def _start_services(self, stack):
        self._begin('Starting Placement, nova-conductor and nova-scheduler')
        self._web.mount('placement', services.placement(self.state))
        running = services.Services(self.state)
        stack.callback(running.stop)
        running.start('nova-conductor', conductor_rpcapi.RPC_TOPIC)
        running.start(
            'nova-scheduler', scheduler_rpcapi.RPC_TOPIC, self._parts.scheduler
        )
        self._begin(f'Starting the computes ({len(self.hosts)})')
        for host in self._each_host():
            running.start_compute(host)
        services.map_hosts()
        # Nova only logs that a compute could not report its inventory.
        for host in self.hosts:
            if not self.free(host.name):
                raise errors.CannotStart(
                    f'Host {host.name} has no capacity in Placement; see '
                    f'{self.log}.'
                )
        return running

    def _start_api(self):
        self._begin('Starting nova-api, creating flavors and aggregates')
        self._web.mount('compute', services.nova_api(self.state))
        seed_data.flavors(self.nova('admin'))
        seed_data.aggregates(self.nova('admin'), self._each_host())

    def _begin(self, step):
        self._checkpoint()
        self._report(step)

    def _each_host(self):
        for host in self.hosts:
            self._checkpoint()
            yield host

    def add_service(self, kind, url):
        """Add a service beside the cloud to the catalogue of later tokens.

        :param url: may contain ``$(project_id)s``
        """
        self._identity.add_service(kind, url)

    def sdk(self, name):
        """Return the SDK connection of a user; :meth:`stop` closes it."""
        if name not in self._connections:
            clouds = loader.OpenStackConfig(
                config_files=[str(self.clouds_yaml)], load_envvars=False
            )
            self._connections[name] = openstack.connection.Connection(
                config=clouds.get_one(f'vrt-{name}')
            )
        return self._connections[name]

    def _disconnect(self):
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def session(self, name):
        """Return the keystoneauth session of a user."""
        return self.sdk(name).session

    def nova(self, name):
        """Return a novaclient of a user, at its newest microversion."""
        return nova_client.Client(
            novaclient.API_MAX_VERSION.get_string(),
            session=self.session(name),
        )

    @property
    def placement(self):
        """Keystoneauth adapter of the admin for the Placement API.

        For an error response its methods raise an exception of
        :mod:`keystoneauth1.exceptions.http`, unless ``raise_exc=False``.
        """
        return adapter.Adapter(
            self.session('admin'),
            service_type='placement',
            default_microversion=PLACEMENT_MICROVERSION,
        )

    def provider(self, host):
        """Return a host's resource provider uuid, or raise KeyError."""
        response = self._get_from_placement(f'/resource_providers?name={host}')
        return {
            provider['name']: provider['uuid']
            for provider in response['resource_providers']
        }[host]

    def free(self, host):
        """Return the free capacity of a host, {resource class: units}."""
        path = f'/resource_providers/{self.provider(host)}'
        inventories = self._get_from_placement(f'{path}/inventories')[
            'inventories'
        ]
        usages = self._get_from_placement(f'{path}/usages')['usages']
        return {
            name: _capacity(inventory) - usages[name]
            for name, inventory in inventories.items()
        }

    def _get_from_placement(self, path):
        return self.placement.get(path).json()


def _capacity(inventory):
    usable = inventory['total'] - inventory['reserved']
    return int(usable * inventory['allocation_ratio'])
