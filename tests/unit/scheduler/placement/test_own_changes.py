# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/placement/own_changes.py``."""

import types

from oslotest import base

from nova_groupext.scheduler.placement import own_changes

MANY = own_changes.MANY_PROVIDERS


class TestOwnChanges(base.BaseTestCase):
    """Two holds on each of many providers, filled by two requests."""

    def setUp(self):
        super().setUp()
        self.providers = [f'provider-{number}' for number in range(MANY)]
        self.generations = dict.fromkeys(self.providers, 5)
        self.readings = 0

    def read(self, _context):
        self.readings += 1
        return dict(self.generations)

    def changed(self, providers, change=lambda: None):
        """Return what others have changed, if ``change`` is what they did."""
        client = types.SimpleNamespace(generations=self.read)
        holds = [
            types.SimpleNamespace(allocations={each: {}})
            for each in (*providers, *providers)
        ]
        own = own_changes.OwnChanges(None, client, holds)
        for chunk in (holds[: len(providers)], holds[len(providers) :]):
            own.count(chunk)
            for each in providers:
                self.generations[each] = self.generations.get(each, 0) + 1
        change()
        return own.changed_by_others()

    def test_own_requests_are_no_change_by_others(self):
        self.assertEqual(set(), self.changed(self.providers))

    def test_provider_with_a_further_request_is_found(self):
        def change():
            self.generations['provider-3'] += 1

        self.assertEqual({'provider-3'}, self.changed(self.providers, change))

    def test_removed_provider_is_found(self):
        def change():
            del self.generations['provider-3']

        self.assertEqual({'provider-3'}, self.changed(self.providers, change))

    def test_provider_that_did_not_exist_before_is_found(self):
        del self.generations['provider-3']

        self.assertEqual({'provider-3'}, self.changed(self.providers))

    def test_few_providers_are_not_compared(self):
        few = self.providers[:-1]

        self.assertEqual({*few}, self.changed(few))
        self.assertEqual(0, self.readings)
