# SPDX-License-Identifier: Apache-2.0
"""Replacements of Nova for tests in which only Placement is real.

The tests decide the plans, see doubles.FixedPlan. Hosts have the names of
their providers.
"""

import types

import fixtures

from nova_groupext.conf import CONF

# VCPUs of one member and of its server.
MEMBER_VCPUS = 2

# The project and the user of all servers.
SERVER_OWNER = 'project', 'user'

OPTIONS = {
    # No planner runs that could replace members.
    'redeem_replacement_time_limit': 0,
    'planning_attempts': 1,
}


class FakeNova(fixtures.Fixture):
    """Replacements of the functions of one process that call Nova.

    :param servers: called as look.servers.read is
    :param out_of_service: called as service_states.out_of_service is
    """

    def __init__(self, servers, out_of_service=lambda *_args: set()):
        super().__init__()
        self._servers = servers
        self._out_of_service = out_of_service

    def _setUp(self):
        for name, value in OPTIONS.items():
            CONF.set_override(name, value, 'vrt')
            self.addCleanup(CONF.clear_override, name, 'vrt')
        for name, value in (
            ('nova_groupext.quota.check', _accept),
            # Without a snapshot of the cloud there is no other host.
            (
                'nova_groupext.scheduler.reap.reaper.members_to_replace',
                lambda *_args: [],
            ),
            (
                'nova_groupext.scheduler.redeem.description_match.'
                'DescriptionMatch.difference',
                _accept,
            ),
            ('nova_groupext.scheduler.nova.servers.read', self._servers),
            (
                'nova_groupext.scheduler.nova.servers.list_mapped',
                lambda *_args: set(),
            ),
            # No server's request is stored.
            (
                'nova_groupext.scheduler.protocol.redeem._owner',
                lambda *_args: SERVER_OWNER,
            ),
            (
                'nova_groupext.scheduler.nova.stored_hints._set_hints',
                lambda *_args: None,
            ),
            (
                'nova_groupext.scheduler.nova.service_states.out_of_service',
                self._out_of_service,
            ),
            ('nova_groupext.scheduler.nova.hosts.nodes', _nodes),
            ('nova_groupext.scheduler.nova.hosts.compute_node', _node),
            (
                'nova_groupext.scheduler.nova.host_domains.find',
                lambda *_args: {},
            ),
            (
                'nova_groupext.scheduler.nova.host_domains._read_metadata',
                lambda *_args: [],
            ),
        ):
            self.useFixture(fixtures.MonkeyPatch(name, value))


def _accept(*_args, **_kwargs):
    """Accept any quota, and any server for its member."""


def _node(_context, host, *_name):
    return types.SimpleNamespace(
        host=host, hypervisor_hostname=host, uuid=host
    )


def _nodes(context, host):
    return [_node(context, host)]
