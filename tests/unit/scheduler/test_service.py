# SPDX-License-Identifier: Apache-2.0
"""A planner's requests from the message bus while its service starts."""

import fixtures
from nova import rpc

from nova_groupext.objects.lease import VRTLease
from nova_groupext.objects.planners import VRTPlanner
from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler import service
from tests.unit.scheduler import base


class FakeServer:
    """RPC server that gets requests as soon as it listens."""

    def __init__(self, test, endpoints):
        self._test = test
        [self._planner] = endpoints

    def start(self):
        self._planner._report_client = self._test.deployment.client()
        self._test.assertEqual([], VRTPlanner.list_rows(self._test.context))
        self._test.requests(self._planner)

    def stop(self):
        pass

    def wait(self):
        pass


class TestService(base.ProtocolTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MockPatchObject(
                rpc, 'get_server', lambda _target, e: FakeServer(self, e)
            )
        )
        self.useFixture(
            fixtures.MockPatchObject(service.PlannerService, '_add_timer')
        )
        provider = self.deployment.make_provider(1)
        self.uuid = self.deployment.describe([provider])

    def requests(self, planner):
        """Send requests; keep their result and the leases afterwards."""
        planner.serve_group(self.context, self.uuid)
        self.outcome = planner.replace_members(self.context, self.uuid, {}, 1)
        self.leases = VRTLease.count_by_owner(self.context)

    def test_request_before_the_first_heartbeat_gets_no_lease(self):
        started = service.PlannerService('ctl-1')
        started.start()
        self.addCleanup(started.stop)

        self.assertEqual({}, self.leases)
        self.assertEqual(rpcapi.Outcome.BUSY, self.outcome)
        self.assertEqual('PLANNING', self.deployment.group(self.uuid).status)
        self.assertEqual(1, len(VRTPlanner.list_rows(self.context)))

    def test_request_after_the_first_heartbeat_is_served(self):
        started = service.PlannerService('ctl-1')
        started.start()
        self.addCleanup(started.stop)

        started._planner.serve_group(self.context, self.uuid)

        self.assertNotEqual(
            'PLANNING', self.deployment.group(self.uuid).status
        )
