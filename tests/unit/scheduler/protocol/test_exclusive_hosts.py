# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/protocol/exclusive_hosts.py``."""

import fixtures
from oslo_db import exception as db_exc

from nova_groupext import exception
from nova_groupext.objects import states
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.nova import hosts
from nova_groupext.scheduler.protocol import exclusive_hosts
from tests import groups
from tests.services import deployment
from tests.unit.scheduler import base


class TestPlaceholders(base.ProtocolTestCase):
    """Placeholders that a plan of one exclusive host needs."""

    def setUp(self):
        super().setUp()
        self.provider = self.deployment.make_provider(3)

    def describe(self, *policies):
        uuid = self.deployment.describe([self.provider], policies)
        return self.deployment.group(uuid)

    def plan(self, *providers):
        return VRTPlan(
            placements={
                f'm-{number}': groups.placement(
                    provider, deployment.MEMBER_VCPUS
                )
                for number, provider in enumerate(providers)
            }
        )

    def needed(self, group):
        return exclusive_hosts.placeholders_for(
            *(self.context, self.deployment.placement_client(), group),
            self.plan(self.provider),
        )

    def test_free_capacity_beside_the_members_is_needed(self):
        [needed] = self.needed(self.describe(base.EXCLUSIVE))

        self.assertEqual({'VCPU': 4}, needed.amounts())
        self.assertEqual(states.Hold.WRITING, needed.status)

    def test_soft_policy_needs_no_placeholders(self):
        soft = {**base.EXCLUSIVE, 'strict': False}

        self.assertEqual([], self.needed(self.describe(soft)))

    def test_group_without_the_policy_needs_no_placeholders(self):
        self.assertEqual([], self.needed(self.describe(base.APART)))

    def test_host_with_a_foreign_consumer_is_refused(self):
        consumer = self.deployment.fill(self.provider)

        error = self.assertRaises(
            exception.HoldFailed,
            self.needed,
            self.describe(base.EXCLUSIVE),
        )

        self.assertIn(consumer, error.format_message())

    def test_silent_cell_is_a_refusal(self):
        self.useFixture(
            fixtures.MockPatchObject(
                hosts, 'nodes', side_effect=db_exc.DBConnectionError
            )
        )

        self.assertRaises(
            exception.HoldFailed,
            self.needed,
            self.describe(base.EXCLUSIVE),
        )

    def test_consumer_that_came_during_the_hold_is_refused(self):
        uuid, provider = self.held_exclusive()
        group, rows = self.deployment.group(uuid), self.holds(uuid)
        args = (self.context, self.deployment.placement_client(), group, rows)
        exclusive_hosts.refuse_foreign_consumers(*args)
        self.deployment.resize_provider(provider, 3)
        self.deployment.fill(provider)

        self.assertRaises(
            exception.HoldFailed,
            exclusive_hosts.refuse_foreign_consumers,
            *args,
        )

    def test_foreign_consumer_prevents_the_hold(self):
        """It comes after the placeholders were computed."""
        group = self.describe(base.EXCLUSIVE)
        self.call_at(
            'after hold.post',
            lambda: (
                self.deployment.resize_provider(self.provider, 4),
                self.deployment.fill(self.provider),
            ),
        )

        self.deployment.plan(group.uuid)

        self.assertEqual({'m-0': 'TENTATIVE'}, self.statuses(group.uuid))
        self.assertEqual(2, self.used(self.provider))


class TestChanges(base.ProtocolTestCase):
    """Placeholders that a revision of an exclusive group replaces."""

    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held_exclusive(slots=3)
        self.other = self.deployment.make_provider(2)

    def changes(self, arriving, placements):
        group = self.deployment.group(self.uuid)
        plan = VRTPlan(
            placements={
                path: groups.placement(provider, deployment.MEMBER_VCPUS)
                for path, provider in placements.items()
            }
        )
        return exclusive_hosts.placeholder_changes(
            *(self.context, self.deployment.placement_client()),
            *(group, group, plan),
            {path: plan.placements[path] for path in arriving},
            [],
        )

    def test_placeholders_of_unchanged_hosts_stay(self):
        """Added capacity there is left to maintain.maintain()."""
        self.deployment.resize_provider(self.provider, 4)
        self.assertEqual(([], []), self.changes([], {'m-0': self.provider}))

    def test_new_member_replaces_a_part_of_the_placeholders(self):
        [old] = [h for h in self.holds(self.uuid) if h.is_placeholder]

        needed, replaced = self.changes(
            ['m-1'], {'m-0': self.provider, 'm-1': self.provider}
        )

        self.assertEqual([{'VCPU': 2}], [each.amounts() for each in needed])
        self.assertEqual([old.uuid], [each.uuid for each in replaced])

    def test_new_host_gets_placeholders(self):
        needed, replaced = self.changes(['m-0'], {'m-0': self.other})

        self.assertEqual([{'VCPU': 2}], [each.amounts() for each in needed])
        self.assertEqual([], replaced)


class TestHosts(base.ProtocolTestCase):
    def test_exclusive_hosts_are_those_of_confined_members(self):
        uuid, provider = self.held_exclusive()
        group = self.deployment.group(uuid)
        locations = {
            'm-0': (provider, provider),
            'm-9': ('elsewhere', 'elsewhere'),
        }

        found = exclusive_hosts.find_hosts(self.context, group, locations)

        self.assertEqual({provider: {provider}}, found)
        self.assertTrue(exclusive_hosts.is_confined(group, 'm-0'))
        self.assertFalse(exclusive_hosts.is_confined(group, 'm-9'))

    def test_shared_host_has_no_exclusive_nodes(self):
        self.assertEqual([], exclusive_hosts.nodes(self.context, {}, 'host'))
