# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/redeem/create_request.py``."""

from concurrent import futures
import types

import fixtures
from oslo_utils.fixture import uuidsentinel as uuids
from oslotest import base

from nova_groupext.objects.create import VRTCreate
from nova_groupext.scheduler.redeem import create_request
from nova_groupext.solver.model import time_budget

WAITERS = 8


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
