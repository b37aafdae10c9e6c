# SPDX-License-Identifier: Apache-2.0
"""Base of the tests in which processes are killed.

Each operation runs in a process of its own, which kills itself at a point of
``nova_groupext.faultpoints``. Then time passes, and a reaper makes one round.
"""

import multiprocessing
import os
import signal

from oslo_utils import uuidutils

from nova_groupext import faultpoints
from nova_groupext.objects import states
from nova_groupext.scheduler.nova import servers as nova_servers
from tests.services import deployment
from tests.services import servers

EXCLUSIVE = {'type': 'exclusive', 'scope': 'host'}
FORK = multiprocessing.get_context('fork')


class KillTestCase(deployment.DeploymentTestCase):
    SERVER = servers.MARIADB
    HELD = {'HELD': 3}

    def setUp(self):
        super().setUp()
        self.server = uuidutils.generate_uuid()
        # Both are full when the group is held, so that a leak is noticed.
        self.large_provider = self.deployment.make_provider(slots=2)
        self.small_provider = self.deployment.make_provider(slots=1)
        self.uuid = self.deployment.describe(
            [self.large_provider, self.large_provider, self.small_provider]
        )

    def kill_at(self, work, point):
        """Run ``work`` in a process that is killed at a fault point."""
        process = FORK.Process(target=_die_at, args=(point, work))
        process.start()
        process.join()
        self.assertEqual(
            -signal.SIGKILL, process.exitcode, f'{point} was not reached'
        )
        self.assert_one_owner()

    def kill_and_reap(self, work, point):
        self.kill_at(work, point)
        self.deployment.reap()
        self.assert_at_rest()

    def kill_reaper(self, point):
        """Kill a reaper, and run another one much later."""
        self.kill_and_reap(lambda: self.deployment.reap(seconds=0), point)

    def delete_and_hold_another(self):
        """End the group, and hold another one on the same providers."""
        if self.deployment.find_group(self.uuid) is not None:
            self._end()
        self.assertEqual({}, self.deployment.allocations())
        self.assertEqual({}, self.deployment.row_counts())
        other = self.deployment.hold_group(
            [self.large_provider, self.large_provider, self.small_provider]
        )
        self.assertEqual(self.HELD, self.deployment.status_counts(other))

    def _end(self):
        for member in self.deployment.group(self.uuid).members:
            if member.status == states.Member.HELD:
                server = self.deployment.redeem(self.uuid, member.path)
                self.deployment.delete_allocations(server)
            elif member.server_uuid:
                # Nova has the server, perhaps without its host.
                self.deployment.server_outcomes.setdefault(
                    member.server_uuid, nova_servers.ServerOutcome.LIVE
                )
        self.deployment.server_hosts.clear()
        self.deployment.delete(self.uuid)
        self.deployment.delete_allocations(self.server)

    # -- what there is before ----------------------------------------------

    def redeem_one(self):
        """Redeem a member; returns another provider for its server."""
        self.deployment.plan(self.uuid)
        self.deployment.redeem(self.uuid, 'm-0', self.server)
        self.deployment.server_hosts[self.server] = self.large_provider
        return self.deployment.make_provider(slots=1)

    def reserve_resize(self):
        """Hold for a resize of a member's server; returns the reservation."""
        spare = self.redeem_one()
        # The server still has the flavor with which it was created.
        del self.deployment.server_outcomes[self.server]
        return self.deployment.reserve_resize(self.uuid, spare)

    def hold_exclusive_host(self, members):
        """Hold a group with an exclusive host."""
        self.deployment.delete(self.uuid)
        self.uuid = self.deployment.describe(
            members * [self.large_provider], [EXCLUSIVE]
        )
        self.deployment.plan(self.uuid)

    def create_draft(self):
        """Start a revision: two members exchange, one ends, one is new.

        :returns: uuid of the draft, current and new {path: provider}
        """
        self.deployment.plan(self.uuid)
        spare = self.deployment.make_provider(slots=1)
        old = self.deployment.held_providers(self.uuid)
        new = {
            'm-0': self.small_provider,
            'm-2': self.large_provider,
            'm-3': spare,
        }
        return self.deployment.revise(self.uuid, new), old, new

    # -- what there is afterwards ------------------------------------------

    def assert_server_on(self, provider):
        """Expect the server on a provider, in Placement and in our rows."""
        self.assert_at_rest()
        hold = self.deployment.hold(self.uuid, 'm-0')
        self.assertEqual(provider, hold.host)
        self.assertEqual(
            [provider], [*self.deployment.allocations()[self.server]]
        )
        self.assertNotIn('vrt_moves', self.deployment.row_counts())

    def assert_full(self):
        """Expect one member and one placeholder on the large provider."""
        part = {
            self.large_provider: {
                'resources': {'VCPU': deployment.MEMBER_VCPUS}
            }
        }
        self.assertEqual(
            [part, part], [*self.deployment.allocations().values()]
        )


def _die_at(point, work):
    """Run ``work``, and kill this process at a fault point of it."""

    def handler(reached):
        if reached == point:
            os.kill(os.getpid(), signal.SIGKILL)

    faultpoints.handler = handler
    work()
