# SPDX-License-Identifier: Apache-2.0
"""A deployment in memory: SQLite, a fake Placement, and a clock of its own."""

import itertools
import time

import fixtures
from keystoneauth1 import exceptions as ks_exc
from oslo_utils import timeutils
from oslotest import base

from nova_groupext import faultpoints
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler import serve
from tests import fixtures as ours
from tests.protocol import fake_placement
from tests.services import deployment
from tests.services import doubles

EXCLUSIVE = {'type': 'exclusive', 'scope': 'host'}
APART = {'type': 'anti-affinity', 'scope': 'host'}

# Errors of a change that say nothing about its consumers and capacity
NO_REFUSALS = (
    *map(fake_placement.ProxyAnswer, (401, 403, 404, 413, 429)),
    fake_placement.Conflict('another process has changed the provider'),
)


class ProtocolTestCase(deployment.DeploymentChecks, base.BaseTestCase):
    """A test of what planners and schedulers write, without any service.

    :ivar placement: FakePlacement
    :ivar deployment: deployment.Deployment on it
    :ivar posts: [{consumer}] of each change that Placement got
    :ivar before_request: called with the label and the path or body of each
        request to Placement; a fake_placement.Conflict of it refuses a change
    """

    def setUp(self):
        super().setUp()
        self.useFixture(ours.Database('sqlite://'))
        self.placement = fake_placement.FakePlacement()
        self.posts = []
        self.before_request = None
        self.deployment = self.useFixture(
            deployment.Deployment(
                lambda: fake_placement.Session(
                    lambda: self.placement, self._on_request
                )
            )
        )
        self.context = self.deployment.context
        self.addCleanup(setattr, faultpoints, 'handler', None)
        self._now = time.monotonic()
        self.useFixture(fixtures.MockPatch('time.monotonic', self._monotonic))
        self.useFixture(fixtures.MockPatch('time.sleep', self.sleep))

    def _monotonic(self):
        return self._now

    def sleep(self, seconds):
        """Advance all clocks; pauses between attempts take no other time."""
        self._now += seconds
        timeutils.advance_time_seconds(seconds)

    def _on_request(self, label, about):
        if self.before_request is not None:
            self.before_request(label, about)
        if label == 'POST':
            self.posts.append({*about})

    # -- what happens ------------------------------------------------------

    def held(self, slots=2, members=1):
        """Hold a group on a provider of its own.

        :returns: (group uuid, provider)
        """
        provider = self.deployment.make_provider(slots)
        return self.deployment.hold_group([provider] * members), provider

    def held_exclusive(self, slots=2, members=1):
        """Hold a group on a provider that is exclusive to it.

        :returns: (group uuid, provider)
        """
        provider = self.deployment.make_provider(slots)
        uuid = self.deployment.describe([provider] * members, [EXCLUSIVE])
        self.deployment.plan(uuid)
        return uuid, provider

    def redeemed(self, outcome=None):
        """Redeem the only member of a group.

        :param outcome: ServerOutcome of its server since then
        :returns: (group uuid, provider, server uuid)
        """
        uuid, provider = self.held(slots=1)
        server = self.deployment.redeem(uuid, 'm-0')
        if outcome is not None:
            self.deployment.server_outcomes[server] = outcome
        self.posts.clear()
        return uuid, provider, server

    def serve(self, uuid):
        """Serve a group as a planner does, but no other one that waits."""
        tools = doubles.FixedPlan()(self.deployment.placement_client())
        serve.GroupServer(self.deployment.leases(), lambda: tools).serve(
            self.context, self.deployment.group(uuid)
        )

    def acquire_lease(self, uuid):
        """Return the lease of a group, which no planner has."""
        lease = self.deployment.leases().acquire(
            self.context, self.deployment.group(uuid).id, wakes_owner=False
        )
        self.assertIsNotNone(lease)
        return lease

    def take_over(self, uuid):
        """Finish the swap of a group as another planner, much later."""
        self.sleep(deployment.LATER)
        with self.deployment.leases().owning(
            *(self.context, self.deployment.placement_client()),
            self.deployment.group(uuid).id,
        ) as lease:
            self.assertIsNotNone(lease)

    def kill_at(self, point, work, *args):
        """Run ``work`` until a fault point, at which its process dies."""
        self.call_at(point, self._die)
        self.assertRaises(deployment.ProcessKilled, work, *args)

    @staticmethod
    def _die():
        raise deployment.ProcessKilled

    def silence(self):
        """Lose all later answers of Placement."""

        def fail(*_args):
            raise ks_exc.ConnectFailure('a test')

        self.before_request = fail

    def refuse_next_change(self):
        """Make Placement refuse the next change of consumers."""
        self.fail_changes(fake_placement.Conflict('consumer: a test'), 1)

    def fail_changes(self, error, number=None):
        """Raise an error for so many of the next changes, or for all."""
        errors = (
            itertools.repeat(error)
            if number is None
            else itertools.repeat(error, number)
        )

        def fail(label, _about):
            if label == 'POST':
                for each in errors:
                    raise each

        self.before_request = fail

    def set_option(self, name, value):
        CONF.set_override(name, value, 'vrt')
        self.addCleanup(CONF.clear_override, name, 'vrt')

    # -- what there is afterwards ------------------------------------------

    def points(self, work, *args):
        """Run ``work``; return the writes that it has made, in order."""
        reached = []
        faultpoints.handler = reached.append
        work(*args)
        faultpoints.handler = None
        return [
            point.removeprefix('after ')
            for point in reached
            if point.startswith('after ')
        ]

    def starts(self, uuid):
        """Return the start of each member's hold, or None, by path."""
        group = self.deployment.group(uuid)
        mine = models.Member.group_id == group.id
        columns = [models.Member.path, models.Member.held_since]
        rows = db.find_columns(self.context, columns, models.Member, mine)
        return [since for _path, since in sorted(rows)]

    def statuses(self, uuid):
        """Return {path: status} of a group's members."""
        group = self.deployment.group(uuid)
        return {each.path: each.status for each in group.members}

    def used(self, provider):
        """Return the number of VCPUs in use on a provider."""
        return sum(
            resources.get('VCPU', 0)
            for each in self.placement.consumers.values()
            for uuid, resources in each.allocations.items()
            if uuid == provider
        )

    def holds(self, uuid, *statuses):
        """Return the holds of a group in some states, by default all."""
        group = self.deployment.group(uuid)
        return VRTHold.list_by_group(
            self.context, group.id, *(statuses or states.Hold)
        )

    def hold_statuses(self, uuid):
        """Return the statuses of a group's holds, oldest first."""
        return [hold.status for hold in self.holds(uuid)]
