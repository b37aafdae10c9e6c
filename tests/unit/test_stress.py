# SPDX-License-Identifier: Apache-2.0
"""Unit tests of what the stress test takes for a server."""

import random

from oslo_utils import uuidutils

from nova_groupext.objects.hold import VRTHold
from nova_groupext.scheduler.nova.servers import ServerOutcome
from tests import groups
from tests.protocol import fake_placement
from tests.services import placement
from tests.stress import operations
from tests.unit.scheduler import base


class TestServers(base.ProtocolTestCase):
    def setUp(self):
        super().setUp()
        self.provider = self.deployment.make_provider(2)
        self.session = fake_placement.Session(lambda: self.placement)
        self.operations = self.useFixture(
            operations.Operations(
                random.Random(1), self.session, [self.provider]
            )
        )
        self.consumer = uuidutils.generate_uuid()

    def outcome(self):
        """Return what becomes of the server with the consumer's uuid."""
        [server] = self.operations._servers(
            self.context, [self.consumer]
        ).values()
        return server.outcome

    def test_consumer_without_allocation_is_a_deleted_server(self):
        self.assertEqual(ServerOutcome.DELETED, self.outcome())

    def test_consumer_of_an_ordinary_server_is_live(self):
        placement.claim(self.session, self.provider, self.consumer, VCPU=1)

        self.assertEqual(ServerOutcome.LIVE, self.outcome())

    def test_consumer_left_by_a_killed_sweep_is_a_deleted_server(self):
        [member] = groups.equal_members(1).members
        member.id, member.group_id = 1, 1
        hold = VRTHold.for_member(member, groups.placement(self.provider, 1))
        self.deployment.placement_client().refill(
            self.context, self.consumer, hold
        )
        self.assertEqual(1, self.used(self.provider))

        self.assertEqual(ServerOutcome.DELETED, self.outcome())
