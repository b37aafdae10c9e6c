# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/placement/changed_providers.py``."""

import copy

from nova_groupext.scheduler.placement import changed_providers
from tests.unit.scheduler import base

CHECK = 'a check'


class TestChangedProviders(base.ProtocolTestCase):
    """A provider with two holds was consistent in the round before."""

    def setUp(self):
        super().setUp()
        self.uuid, self.provider = self.held(members=2)
        self.changes = changed_providers.ChangedProviders()
        self.begin()
        self.changes.mark_consistent(CHECK, [self.provider])

    def begin(self):
        self.changes.begin(self.context, self.deployment.placement_client())

    def is_due(self):
        """Begin a round; return whether the provider has to be read."""
        self.begin()
        return self.changes.are_due(CHECK, [self.provider])

    def test_provider_that_has_not_changed_is_not_due(self):
        self.assertFalse(self.is_due())

    def test_provider_with_another_generation_is_due(self):
        self.deployment.resize_provider(self.provider, 3)

        self.assertTrue(self.is_due())

    def test_all_are_due_when_a_hold_was_deleted(self):
        hold = self.deployment.hold(self.uuid, 'm-0')
        self.deployment.delete_allocations(hold.uuid)

        self.assertTrue(self.is_due())

    def test_hold_that_is_being_filled_makes_no_other_provider_due(self):
        """Its row follows while the difference is read again."""
        hold = self.deployment.hold(self.uuid, 'm-0')
        consumers = self.placement.consumers
        answers = []

        def fill_before_the_row(_label, about):
            if about == '/usages':
                answers.append(about)
                if len(answers) < changed_providers.MAX_ATTEMPTS:
                    consumers['filled'] = copy.copy(consumers[hold.uuid])
                else:
                    del consumers['filled']

        self.before_request = fill_before_the_row

        self.assertFalse(self.is_due())
