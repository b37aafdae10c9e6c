# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/redeem/create_request.py``."""

from concurrent import futures
import itertools
import types

import fixtures
from nova import exception as nova_exc
import oslo_messaging as messaging
from oslo_utils import uuidutils
from oslo_utils.fixture import uuidsentinel as uuids
from oslotest import base

from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.member_set import Matching
from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler.redeem import create_request
from nova_groupext.solver.model import time_budget
from tests.unit.cmd import running
from tests.unit.scheduler import base as protocol_base

WAITERS = 8
LIMITS = ('max_waiting_creates', 'max_waiting_creates_per_project')


class TestWaiting(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        patch = fixtures.MockPatchObject(create_request, 'PAUSE', 0.01)
        self.useFixture(patch)
        self.waiting = create_request.Waiting()
        self.looks = []
        # {uuid: number of looks after which it has ended}
        self.ends = {}

        def list_ended(_context, asked):
            self.looks.append(set(asked))
            return {
                uuid: f'end of {uuid}'
                for uuid in asked
                if len(self.looks) >= self.ends.get(uuid, 1e9)
            }

        self.useFixture(
            fixtures.MockPatchObject(VRTCreate, 'list_ended', list_ended)
        )

    def wait(self, uuid, seconds=20):
        return self.waiting.wait(
            None,
            types.SimpleNamespace(uuid=uuid),
            time_budget.TimeBudget(seconds),
        )

    def test_one_query_looks_for_all_waiting_creates(self):
        names = [f'create-{number}' for number in range(WAITERS)]
        self.ends = dict.fromkeys(names, 20)

        with futures.ThreadPoolExecutor(WAITERS) as pool:
            ended = [*pool.map(self.wait, names)]

        self.assertEqual([f'end of {name}' for name in names], ended)
        self.assertIn({*names}, self.looks)
        self.assertLess(len(self.looks), 20 + WAITERS)

    def test_wait_ends_with_its_time(self):
        self.assertIsNone(self.wait(uuids.create, seconds=0.05))

    def test_ended_waits_are_not_looked_for(self):
        self.wait(uuids.one, seconds=0.02)
        self.looks.clear()

        self.wait(uuids.two, seconds=0.02)

        self.assertEqual({uuids.two}, set.union(*self.looks))


class TestRefusal(protocol_base.ProtocolTestCase):
    """A server of a group that has no held member for it.

    The message broker is down; planners find its create nevertheless.
    """

    def setUp(self):
        super().setUp()
        self.uuid, _provider = self.held()
        # A server waits as long as it takes to see whether one does.
        self.set_option('redeem_replacement_time_limit', 0.1)
        self.useFixture(
            fixtures.MockPatchObject(
                rpcapi,
                'PlannerAPI',
                side_effect=messaging.MessageDeliveryFailure,
            )
        )

    def refusal(self):
        error = self.assertRaises(
            nova_exc.NoValidHost,
            *(create_request.place, self.context),
            *(self.deployment.group(self.uuid), 'm', Matching()),
            *([uuidutils.generate_uuid()], 'its host is full'),
        )
        self.assertIn('its host is full', str(error))
        return str(error)

    def start(self):
        """Store the create of another server, which waits."""
        VRTCreate.start(
            *(self.context, self.deployment.group(self.uuid), 'm'),
            *(Matching(), [uuidutils.generate_uuid()]),
            seconds=60,
            limit=9,
            project_limit=9,
        )

    def number_waiting(self):
        return len(VRTCreate.list_rows(self.context))

    def test_server_waits_as_long_as_it_may(self):
        running.create_planner(self.context)

        self.assertIn(create_request.NO_ANSWER, self.refusal())

        self.assertEqual(0, self.number_waiting())

    def test_server_does_not_wait_if_no_planner_runs(self):
        self.assertIn(create_request.NO_PLANNER, self.refusal())

    def test_server_does_not_wait_where_the_operator_allows_no_time(self):
        running.create_planner(self.context)
        self.set_option('redeem_replacement_time_limit', 0)

        self.assertNotIn(create_request.NO_ANSWER, self.refusal())

    def test_server_does_not_wait_beside_too_many(self):
        running.create_planner(self.context)
        self.set_option('redeem_replacement_time_limit', 5)
        self.start()
        for option, other in itertools.permutations(LIMITS):
            self.set_option(option, 1)
            self.set_option(other, 9)
            self.assertIn('Too many servers', self.refusal())
        self.assertEqual(1, self.number_waiting())
