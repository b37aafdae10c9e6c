# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/protocol/hold_plan.py``."""

from tests.unit.scheduler import base


class TestHoldPlan(base.ProtocolTestCase):
    def test_held_group_has_the_capacity_of_all_members(self):
        _uuid, provider = self.held(slots=3, members=3)

        self.assertEqual(6, self.used(provider))
