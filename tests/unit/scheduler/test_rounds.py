# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/rounds.py``."""

import types

import fixtures

from nova_groupext.objects import states
from nova_groupext.scheduler import rounds
from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler import serve
from nova_groupext.scheduler.move import drift
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.placement import changed_providers
from nova_groupext.scheduler.reap import reaper
from tests.services import deployment
from tests.services import doubles
from tests.unit.scheduler import base

Outcome = rpcapi.Outcome


class RoundTestCase(base.ProtocolTestCase):
    def setUp(self):
        super().setUp()
        self.changes = changed_providers.ChangedProviders()
        self.drift = drift.ChangedGroups()
        tools = doubles.FixedPlan()(self.deployment.placement_client())
        self.leases = self.deployment.leases()
        self.server = serve.GroupServer(self.leases, lambda: tools)

    def reap(self):
        placement_client = self.deployment.placement_client()
        rounds.reap(
            *(self.context, placement_client, self.leases),
            *(self.changes, self.drift),
        )
        rounds.release(self.context, placement_client, self.server)

    def fail(self, name):
        """Make a step of the reaper fail."""

        def step(*_args):
            raise ZeroDivisionError(name)

        step.__name__ = name
        self.useFixture(fixtures.MockPatchObject(reaper, name, step))


class TestReap(RoundTestCase):
    def test_failed_step_does_not_stop_the_others(self):
        uuid, provider = self.held(members=2)
        self.deployment.request_release(uuid, 'm-0')
        lost = self.deployment.hold(uuid, 'm-1')
        self.deployment.delete_allocations(lost.uuid)
        self.fail('expire')

        self.reap()

        self.assertEqual(
            {'m-0': 'RELEASED', 'm-1': 'HELD'}, self.statuses(uuid)
        )
        self.assertEqual(2, self.used(provider))
        self.assert_at_rest()

    def test_expired_holds_are_emptied_in_the_same_round(self):
        uuid, provider = self.held()
        self.deployment.expire(uuid)

        self.reap()

        self.assertEqual(['RELEASED'], self.hold_statuses(uuid))
        self.assertEqual(0, self.used(provider))

    def test_one_stuck_redeem_does_not_stop_the_others(self):
        groups = [self.held(slots=1)[0] for _each in range(2)]
        for uuid in groups:
            self.kill_at(
                'after redeem.reserve', self.deployment.redeem, uuid, 'm-0'
            )
        live = servers.ServerOutcome.LIVE
        self.deployment.server_outcomes = dict.fromkeys(
            self.deployment.server_outcomes, live
        )
        self.sleep(deployment.LATER)
        resolve, calls = reaper.resolve_redeem, []

        def fail_first(context, placement_client, member):
            calls.append(member)
            if len(calls) == 1:
                raise ZeroDivisionError
            resolve(context, placement_client, member)

        fail_first.__name__ = 'resolve_redeem'
        self.useFixture(
            fixtures.MockPatchObject(reaper, 'resolve_redeem', fail_first)
        )

        self.reap()

        self.assertEqual(
            ['ACTIVE', 'REDEEMING'],
            sorted(self.statuses(uuid)['m-0'] for uuid in groups),
        )

    def test_deleted_group_is_removed(self):
        uuid, _provider = self.held()
        self.deployment.mark_deleted(uuid)

        self.reap()

        self.assertIsNone(self.deployment.find_group(uuid))

    def test_group_of_a_busy_planner_is_left_to_it(self):
        uuid, provider = self.held()
        self.deployment.mark_deleted(uuid)
        self.acquire_lease(uuid)

        self.reap()

        self.assertIsNotNone(self.deployment.find_group(uuid))
        self.assertEqual(2, self.used(provider))


class TestReplaceFailed(RoundTestCase):
    """A failed member, which a planner may replace."""

    def setUp(self):
        super().setUp()
        self.uuid, provider = self.held()
        self.deployment.resize_provider(provider, 0)
        self.reap()
        self.assertEqual({'m-0': 'FAILED'}, self.statuses(self.uuid))
        self.useFixture(
            fixtures.MockPatchObject(
                reaper,
                'members_to_replace',
                lambda _context: [
                    (
                        self.deployment.group(self.uuid),
                        {'m-0': [provider]},
                    )
                ],
            )
        )

    def attempts(self, outcome):
        """Return the number of attempts after one with this Outcome."""
        server = types.SimpleNamespace(replace_members=lambda *_args: outcome)
        rounds.replace_failed(self.context, server)
        return self.deployment.member(self.uuid, 'm-0').replacement_attempts

    def test_attempts_are_counted(self):
        self.assertEqual(1, self.attempts(Outcome.NO_OTHER_HOST))

    def test_busy_planner_is_no_attempt(self):
        self.assertEqual(0, self.attempts(Outcome.BUSY))


class TestMaintainExclusive(RoundTestCase):
    """A member with a server on an exclusive host."""

    def maintain(self):
        rounds.maintain_exclusive(
            *(self.context, self.deployment.placement_client()),
            *(self.leases, set()),
        )

    def test_capacity_of_a_deleted_server_is_filled_in_one_round(self):
        uuid, provider = self.held_exclusive(members=2)
        server = self.deployment.redeem(uuid, 'm-0')
        self.deployment.delete_allocations(server)
        self.deployment.server_outcomes[server] = servers.ServerOutcome.DELETED

        self.maintain()

        self.assertEqual(
            {'m-0': 'TENTATIVE', 'm-1': 'HELD'}, self.statuses(uuid)
        )
        self.assertEqual(4, self.used(provider))

    def test_group_of_a_busy_planner_is_left_to_it(self):
        uuid, provider = self.held_exclusive(slots=1)
        self.deployment.resize_provider(provider, 2)
        self.acquire_lease(uuid)

        self.maintain()

        self.assertEqual([], self.holds(uuid, states.Hold.RELEASING))
        self.assertEqual(2, self.used(provider))
