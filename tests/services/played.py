# SPDX-License-Identifier: Apache-2.0
"""Nova, played: what stands in for it where only Placement is real.

Whoever plans is told where everybody sits, see players. Hosts are named like
their providers.
"""

import types

import fixtures

from nova_groupext.conf import CONF
from tests.services import players

# What one member, and its server, asks for.
AMOUNT = 2

# The project and the user of all servers.
OWNER = 'project', 'user'

OPTIONS = {
    # There is no planner that could be asked.
    'redeem_replacement_time_limit': 0,
    'planning_attempts': 1,
}


class Nova(fixtures.Fixture):
    """Takes Nova's place, for one process.

    :param servers: called as look.servers.read is
    :param is_out_of_service: called as look.hosts.is_out_of_service is
    """

    def __init__(self, servers, is_out_of_service=lambda *_args: False):
        super().__init__()
        self._servers = servers
        self._is_out_of_service = is_out_of_service

    def _setUp(self):
        for name, value in OPTIONS.items():
            CONF.set_override(name, value, 'vrt')
            self.addCleanup(CONF.clear_override, name, 'vrt')
        for name, value in (
            ('nova_groupext.quota.check', _accept),
            (
                'nova_groupext.scheduler.decide.planning.Planning',
                players.Planning,
            ),
            (
                'nova_groupext.scheduler.decide.revising.Revising',
                players.Revising,
            ),
            ('nova_groupext.scheduler.look.look.look', _look),
            # Who looks at no cloud finds no other place.
            (
                'nova_groupext.scheduler.reap.reaper.members_to_replace',
                lambda *_args: [],
            ),
            (
                'nova_groupext.scheduler.redeem.redeem_path.RedeemPath._check_description',
                _accept,
            ),
            ('nova_groupext.scheduler.nova.servers.read', self._servers),
            (
                'nova_groupext.scheduler.nova.servers.mapped',
                lambda *_args: set(),
            ),
            # No server's request is stored.
            (
                'nova_groupext.scheduler.protocol.redeem._owner',
                lambda *_args: OWNER,
            ),
            (
                'nova_groupext.scheduler.nova.stored_hints._change',
                lambda *_args: None,
            ),
            (
                'nova_groupext.scheduler.nova.hosts.is_out_of_service',
                self._is_out_of_service,
            ),
            ('nova_groupext.scheduler.nova.hosts.nodes', _nodes),
            ('nova_groupext.scheduler.nova.hosts.compute_node', _node),
            (
                'nova_groupext.scheduler.nova.hosts.domains_now',
                lambda *_args: {},
            ),
            ('nova_groupext.scheduler.nova.hosts.by_name', lambda *_args: {}),
        ):
            self.useFixture(fixtures.MonkeyPatch(name, value))


def _accept(*_args, **_kwargs):
    """Nobody's quota ends, and servers are what their members are."""


def _look(*_args, **_kwargs):
    """Nobody needs to see the cloud."""
    alike = types.SimpleNamespace(request={'VCPU': AMOUNT})
    return types.SimpleNamespace(
        class_of={}, class_of_member=lambda _path: alike
    )


def _node(_context, host, *_name):
    return types.SimpleNamespace(
        host=host, hypervisor_hostname=host, uuid=host
    )


def _nodes(context, host):
    return [_node(context, host)]
