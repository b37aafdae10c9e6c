# SPDX-License-Identifier: Apache-2.0
"""A deployment in memory: SQLite, a fake Placement, and a clock of its own."""

from oslotest import base

from nova_groupext import faultpoints
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from tests import fixtures as ours
from tests.protocol import fake_placement
from tests.services import deployment


class ProtocolTestCase(base.BaseTestCase):
    """A test of what planners and schedulers write, without any service.

    :ivar placement: FakePlacement
    :ivar deployment: deployment.Deployment on it
    """

    def setUp(self):
        super().setUp()
        self.useFixture(ours.Database('sqlite://'))
        self.placement = fake_placement.FakePlacement()
        self.deployment = self.useFixture(
            deployment.Deployment(
                lambda: fake_placement.Session(lambda: self.placement)
            )
        )
        self.context = self.deployment.context
        self.addCleanup(setattr, faultpoints, 'handler', None)

    def held(self, slots=2, members=1):
        """Hold a group on a provider of its own.

        :returns: (group uuid, provider)
        """
        provider = self.deployment.make_provider(slots)
        return self.deployment.hold_group([provider] * members), provider

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
