# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/move/drift.py``."""

import fixtures

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects.move import VRTMove
from nova_groupext.scheduler.move import drift
from nova_groupext.scheduler.nova import host_domains
from tests.unit.scheduler import base

BROKEN = {'at': '', 'policy': {**base.APART}}


class TestStoreDrift(base.ProtocolTestCase):
    """Two members that have to be on different hosts."""

    def setUp(self):
        super().setUp()
        providers = [self.deployment.make_provider(2) for _each in range(2)]
        self.uuid = self.deployment.describe(providers, [base.APART])
        self.deployment.plan(self.uuid)
        self.first, self.second = self.holds(self.uuid)
        self.checked = drift.ChangedGroups()
        self.stored = []
        store = drift.store

        def record(context, group, domains):
            self.stored.append(group.uuid)
            store(context, group, domains)

        self.useFixture(fixtures.MockPatchObject(drift, 'store', record))

    def check(self):
        """Return the uuids of the groups that are checked in a round."""
        self.stored.clear()
        self.checked.store_drift(self.context)
        return [*self.stored]

    def move_first(self):
        """Move the first member to the host of the second one."""
        self.first.update_row(
            self.context,
            host=self.second.host,
            node=self.second.node,
            provider_uuid=self.second.provider_uuid,
        )

    def test_unchanged_group_is_not_checked_again(self):
        self.assertEqual([self.uuid], self.check())

        self.assertEqual([], self.check())

    def test_group_without_policies_is_not_checked(self):
        self.deployment.plan(self.deployment.describe([self.first.host]))

        self.assertEqual([self.uuid], self.check())

    def test_changed_location_is_found_and_stored(self):
        self.check()
        self.move_first()

        self.assertEqual([self.uuid], self.check())

        self.assertEqual([BROKEN], self.deployment.group(self.uuid).drift)

    def test_move_is_found(self):
        self.check()
        server = self.deployment.redeem(self.uuid, 'm-0')
        self.check()
        VRTMove(
            group_id=self.first.group_id,
            member_id=self.first.member_id,
            server_uuid=server,
            host=self.second.host,
            node=self.second.node,
        ).create(self.context)

        self.assertEqual([self.uuid], self.check())

    def test_changed_domain_of_a_host_is_found(self):
        self.check()
        self.useFixture(
            fixtures.MockPatchObject(
                host_domains,
                '_read_metadata',
                lambda *_args: [
                    (self.first.host, host_domains.ZONE_KEY, 'az1')
                ],
            )
        )

        self.assertEqual([self.uuid], self.check())

    def test_changed_definition_is_found(self):
        self.check()
        group = self.deployment.group(self.uuid)
        db.compare_and_set(
            self.context,
            models.Group,
            models.Group.id == group.id,
            generation=group.generation + 1,
        )

        self.assertEqual([self.uuid], self.check())

    def test_drift_that_another_planner_has_stored_is_checked(self):
        self.check()
        group = self.deployment.group(self.uuid)
        group.update_row(self.context, drift=[BROKEN])

        self.assertEqual([self.uuid], self.check())

        self.assertEqual([], self.deployment.group(self.uuid).drift)

    def test_group_is_checked_in_each_round_of_a_swap(self):
        self.first.update_row(self.context, status=states.Hold.EXCHANGING)

        for _round in range(2):
            self.assertEqual([self.uuid], self.check())

    def test_failed_check_is_repeated(self):
        with fixtures.MockPatchObject(drift, 'store', lambda *_args: 1 / 0):
            self.check()

        self.assertEqual([self.uuid], self.check())
