# SPDX-License-Identifier: Apache-2.0
"""Stub of the network service: one network, on which each server gets a port.

Ports are kept in memory until the cloud stops. Whatever else Nova lists, such
as routers, is empty.
"""

import ipaddress
import itertools
import threading
import uuid

import webob

from nova_groupext.cloud import accounts
from nova_groupext.cloud import stub_service

EXTENSIONS = ('auto-allocated-topology', 'binding', 'quotas', 'security-group')
ADDRESSES = ipaddress.ip_network('10.0.0.0/16')


NETWORK = {
    'id': accounts.uuid_of('network', 'private'),
    'name': 'private',
    'subnets': [accounts.uuid_of('network', 'private-subnet')],
    'shared': True,
    'admin_state_up': True,
    'status': 'ACTIVE',
    'tenant_id': accounts.ADMIN.project_id,
    'project_id': accounts.ADMIN.project_id,
    'router:external': False,
    'mtu': 1500,
}
SUBNET = {
    'id': accounts.uuid_of('network', 'private-subnet'),
    'name': 'private-subnet',
    'network_id': NETWORK['id'],
    'ip_version': 4,
    'cidr': str(ADDRESSES),
    'gateway_ip': str(ADDRESSES[1]),
    'enable_dhcp': False,
    'dns_nameservers': [],
    'host_routes': [],
    'tenant_id': accounts.ADMIN.project_id,
}


class Networks(stub_service.StubService):
    """Stub of the network API at ``<cloud>/network``."""

    ROUTES = (
        ('GET', '', 'versions'),
        ('GET', '/v2.0/extensions', 'extensions'),
        ('GET', '/v2.0/quotas/[^/]+(/default)?', 'quota'),
        ('GET', '/v2.0/auto-allocated-topology/[^/]+', 'topology'),
        ('POST', '/v2.0/ports', 'create_port'),
        ('PUT', '/v2.0/ports/(?P<wanted_id>[^/]+)', 'update_port'),
        ('DELETE', '/v2.0/ports/(?P<wanted_id>[^/]+)', 'delete_port'),
        ('GET', '/v2.0/(?P<collection>[a-z_-]+)/(?P<wanted_id>[^/]+)', 'show'),
        ('GET', '/v2.0/(?P<collection>[a-z_-]+)', 'list'),
    )

    def __init__(self, url):
        """Answer requests below ``url``, the URL of the cloud."""
        super().__init__(f'{url}/network')
        # {port id: port}
        self._ports = {}
        self._lock = threading.Lock()

    def versions(self, request):
        current = stub_service.version('v2.0', f'{self.url}/v2.0/')
        return stub_service.json_response({'versions': [current]})

    def extensions(self, request):
        shown = [{'alias': each, 'name': each} for each in EXTENSIONS]
        return stub_service.json_response({'extensions': shown})

    def quota(self, request):
        return stub_service.json_response({'quota': {'port': -1}})

    def topology(self, request):
        """Return the network for servers that ask for any."""
        topology = {'id': NETWORK['id'], 'tenant_id': None}
        return stub_service.json_response(
            {'auto_allocated_topology': topology}
        )

    def list(self, request, collection):
        """List what matches the query, of which Nova gives exact values."""
        key = collection.replace('-', '_')
        shown = [
            each
            for each in self._resources(request, collection)
            if _matches(each, request.GET)
        ]
        return stub_service.json_response({key: shown, f'{key}_links': []})

    def show(self, request, collection, wanted_id):
        """Return one of a collection, or an error that tells Nova its type."""
        for each in self._resources(request, collection):
            if each['id'] == wanted_id:
                key = collection.replace('-', '_').removesuffix('s')
                return stub_service.json_response({key: each})
        return _not_found(collection, wanted_id)

    def create_port(self, request):
        with self._lock:
            port = self._new_port(
                _account(request).project_id, request.json_body['port']
            )
            self._ports[port['id']] = port
        return stub_service.json_response({'port': port}, 201)

    def update_port(self, request, wanted_id):
        with self._lock:
            port = self._ports.get(wanted_id)
            if port is None:
                return _not_found('ports', wanted_id)
            port |= request.json_body['port']
        return stub_service.json_response({'port': port})

    def delete_port(self, request, wanted_id):
        with self._lock:
            if self._ports.pop(wanted_id, None) is None:
                return _not_found('ports', wanted_id)
        return webob.Response(status=204)

    def _resources(self, request, collection):
        """Return what an account may see: of ports those of its project."""
        account = _account(request)
        with self._lock:
            ports = [dict(each) for each in self._ports.values()]
        if 'admin' not in account.roles:
            ports = [e for e in ports if e['tenant_id'] == account.project_id]
        return {
            'networks': [NETWORK],
            'subnets': [SUBNET],
            'ports': ports,
        }.get(collection, [])

    def _new_port(self, project_id, values):
        """Return a port with the first free address."""
        used = {
            each['ip_address']
            for port in self._ports.values()
            for each in port['fixed_ips']
        }
        address = next(
            str(each)
            for each in itertools.islice(ADDRESSES.hosts(), 1, None)
            if str(each) not in used
        )
        return {
            'id': str(uuid.uuid4()),
            'name': '',
            'network_id': NETWORK['id'],
            'tenant_id': project_id,
            'admin_state_up': True,
            'status': 'ACTIVE',
            'device_id': '',
            'device_owner': '',
            'security_groups': [],
            'allowed_address_pairs': [],
            'binding:vif_type': 'ovs',
            'binding:vif_details': {},
            'binding:vnic_type': 'normal',
            'binding:profile': {},
            'mac_address': 'fa:16:3e:{:02x}:{:02x}:{:02x}'.format(
                *ipaddress.ip_address(address).packed[1:]
            ),
            **values,
            'fixed_ips': [{'subnet_id': SUBNET['id'], 'ip_address': address}],
        }


def _account(request):
    token = request.headers.get('X-Auth-Token')
    return accounts.by_token(token) or accounts.ADMIN


def _matches(resource, query):
    """Check whether a resource has the values of a query; others match."""
    return all(
        str(resource[name]).lower()
        in [each.lower() for each in query.getall(name)]
        for name in query
        if name in resource
    )


def _not_found(collection, wanted_id):
    """Return 404 with the error type that Nova reads, such as PortNotFound."""
    words = collection.removesuffix('s').split('-')
    kind = ''.join(word.capitalize() for word in words)
    error = {
        'type': f'{kind}NotFound',
        'message': f'{kind} {wanted_id} could not be found.',
        'detail': '',
    }
    return stub_service.json_response({'NeutronError': error}, 404)
