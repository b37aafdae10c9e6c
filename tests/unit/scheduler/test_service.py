# SPDX-License-Identifier: Apache-2.0
"""A planner's requests from the message bus while its service starts."""

import fixtures
from nova import rpc

from nova_groupext.conf import CONF
from nova_groupext.objects.lease import VRTLease
from nova_groupext.objects.planners import VRTPlanner
from nova_groupext.scheduler import planner
from nova_groupext.scheduler import rounds
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
        self.timers = []
        self.useFixture(
            fixtures.MockPatchObject(
                service.PlannerService,
                '_add_timer',
                lambda _service, _interval, *work: self.timers.append(work),
            )
        )
        provider = self.deployment.make_provider(1)
        self.uuid = self.deployment.describe([provider])

    def requests(self, planner):
        """Send requests; keep their result and the leases afterwards."""
        planner.serve_group(self.context, self.uuid)
        self.outcome = planner.replace_members(self.context, self.uuid, {}, 1)
        self.leases = VRTLease.count_by_owner(self.context)

    def test_rounds_are_run_unless_another_planner_runs_them(self):
        began = []
        for name in ('reap', 'release'):
            self.useFixture(
                fixtures.MockPatchObject(
                    planner.Planner,
                    name,
                    lambda *_args, name=name: began.append(name),
                )
            )
        is_reaper = self.useFixture(
            fixtures.MockPatchObject(planner.Planner, 'is_reaper')
        ).mock
        started = service.PlannerService('ctl-1')
        started.start()
        self.addCleanup(started.stop)
        reaping = [timer for timer in self.timers if len(timer) == 2]
        for is_reaper.return_value in (False, True):
            for work in reaping:
                started._run(*work)

        self.assertEqual(['reap', 'release'], began)

    def reapers(self, *planners):
        return [each for each in planners if each.is_reaper(self.context)]

    def begin_two(self):
        """Return two registered planners; the first one has reaped."""
        first, second = (self.deployment.planner() for _each in range(2))
        for each in (first, second):
            each.beat(self.context)
        first.reap(self.context)
        self.assertEqual([first], self.reapers(first, second))
        return first, second

    def test_planner_without_placement_reaps_for_no_other(self):
        first, second = self.begin_two()
        self.silence()
        self.sleep(4 * CONF.vrt.reap_interval)

        first.reap(self.context)

        self.assertEqual([first, second], self.reapers(first, second))

    def test_planner_whose_release_is_stuck_reaps_for_no_other(self):
        first, second = self.begin_two()

        def release(*_args):
            self.sleep(4 * CONF.vrt.reap_interval)
            first.reap(self.context)
            self.assertEqual([first, second], self.reapers(first, second))

        with fixtures.MockPatchObject(rounds, 'release', release):
            first.release(self.context)

        first.reap(self.context)
        self.assertEqual([first], self.reapers(first, second))

    def test_request_before_the_first_heartbeat_gets_no_lease(self):
        started = service.PlannerService('ctl-1')
        started.start()
        self.addCleanup(started.stop)

        self.assertEqual({}, self.leases)
        self.assertEqual(rpcapi.Outcome.BUSY, self.outcome)
        self.assertEqual('PLANNING', self.deployment.group(self.uuid).status)
        self.assertEqual(1, len(VRTPlanner.list_rows(self.context)))

    def test_planner_that_starts_without_placement_says_so_once(self):
        log = self.useFixture(fixtures.FakeLogger())
        self.silence()
        self.requests = lambda _planner: None

        started = service.PlannerService('ctl-1')
        started.start()
        self.addCleanup(started.stop)

        said = 'Placement is not available; groups are not planned until it is'
        self.assertEqual(1, log.output.count(said))
        self.assertNotIn('Traceback', log.output)

    def test_request_after_the_first_heartbeat_is_served(self):
        started = service.PlannerService('ctl-1')
        started.start()
        self.addCleanup(started.stop)

        started._planner.serve_group(self.context, self.uuid)

        self.assertNotEqual(
            'PLANNING', self.deployment.group(self.uuid).status
        )
