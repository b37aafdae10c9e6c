# SPDX-License-Identifier: Apache-2.0
"""Holds beyond the capacity of a host, which every reader releases."""

import fixtures
from nova import exception as nova_exc

from nova_groupext.scheduler.placement import client
from nova_groupext.scheduler.placement import own_changes
from tests.services import deployment
from tests.services import servers


class TestOvercommittedHost(deployment.DeploymentTestCase):
    """A host that becomes too small for the second of two holds."""

    SERVER = servers.SQLITE

    def setUp(self):
        super().setUp()
        self.provider = self.deployment.make_provider(slots=2)
        self.uuid = self.deployment.describe([self.provider, self.provider])

    def shrink(self):
        self.deployment.resize_provider(self.provider, 1)

    def hold_too_much(self):
        """Return the paths of the member that keeps its hold, and loses it.

        The hold with the lower uuid stays.
        """
        self.deployment.plan(self.uuid)
        self.shrink()
        paths = ('m-0', 'm-1')
        return sorted(
            paths, key=lambda p: self.deployment.hold(self.uuid, p).uuid
        )

    def assert_one_is_left(self, status):
        self.deployment.reap(0)
        self.assert_at_rest()
        self.assertEqual(
            {status: 1, 'FAILED': 1}, self.deployment.status_counts(self.uuid)
        )
        self.assertEqual(1, len(self.deployment.allocations()))

    def test_redeem_of_the_hold_beyond_capacity_is_refused(self):
        _keeper, loser = self.hold_too_much()

        self.assertRaises(
            nova_exc.NoValidHost, self.deployment.redeem, self.uuid, loser
        )

        self.assertEqual(
            {'HELD': 1, 'FAILED': 1}, self.deployment.status_counts(self.uuid)
        )
        self.assert_one_is_left('HELD')

    def test_redeem_of_the_other_hold_succeeds(self):
        keeper, _loser = self.hold_too_much()

        server = self.deployment.redeem(self.uuid, keeper)

        self.assertIn(server, self.deployment.allocations())

    def test_reaper_releases_the_hold_beyond_capacity(self):
        self.hold_too_much()

        self.assert_one_is_left('HELD')

    def test_swap_beyond_capacity_releases_one_hold(self):
        one, other = (
            self.deployment.make_provider(slots=1) for _each in range(2)
        )
        self.uuid = self.deployment.hold_group([one, other])
        self.call_at(
            'after swap.apply', lambda: self.deployment.resize_provider(one, 0)
        )

        self.deployment.plan(
            self.deployment.revise(self.uuid, {'m-0': other, 'm-1': one})
        )

        self.assertEqual(
            'FAILED', self.deployment.member(self.uuid, 'm-1').status
        )
        books = self.deployment.allocations().values()
        used = {provider for has in books for provider in has}
        self.assertEqual({other}, used & {one, other})

    def test_plan_of_many_hosts_beyond_capacity_is_not_held(self):
        self.compare_generations()

        self.test_plan_beyond_capacity_is_not_held()

    def test_hosts_that_only_the_plan_has_changed_are_not_read(self):
        self.compare_generations()
        usages = self.useFixture(
            fixtures.MockPatchObject(client.PlacementClient, 'usages')
        ).mock

        self.deployment.plan(self.uuid)

        self.assertEqual({'HELD': 2}, self.deployment.status_counts(self.uuid))
        usages.assert_not_called()

    def test_hosts_that_others_have_changed_are_read(self):
        self.compare_generations()
        usages = client.PlacementClient.usages
        read = []

        def record(placement_client, context, provider):
            read.append(provider)
            return usages(placement_client, context, provider)

        self.useFixture(
            fixtures.MockPatchObject(client.PlacementClient, 'usages', record)
        )
        self.call_at(
            'before hold.post',
            lambda: self.deployment.resize_provider(self.provider, 2),
        )

        self.deployment.plan(self.uuid)

        self.assertEqual([self.provider], read)

    def compare_generations(self):
        self.useFixture(
            fixtures.MockPatchObject(own_changes, 'MANY_PROVIDERS', 1)
        )

    def test_plan_beyond_capacity_is_not_held(self):
        self.call_at('after hold.post', self.shrink)

        self.deployment.plan(self.uuid)

        self.assertEqual(
            {'TENTATIVE': 2}, self.deployment.status_counts(self.uuid)
        )
        self.deployment.reap()
        self.assertEqual({}, self.deployment.allocations())
