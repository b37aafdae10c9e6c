# SPDX-License-Identifier: Apache-2.0
"""Allocation candidates on the hosts that a group's holds fill."""

import collections
import types

from oslo_utils import uuidutils

from nova_groupext.scheduler.current import own_capacity
from nova_groupext.scheduler.placement import implied_candidates
from tests.services import provider_trees

A, B = provider_trees.CLASSES


class TestOwnCapacity(provider_trees.ProviderTreesTestCase):
    """A host whose only capacity of class A is held."""

    def setUp(self):
        super().setUp()
        self.aggregate = uuidutils.generate_uuid()
        self.host = self.make_provider({A: 1}, None, [], [self.aggregate])
        self.fill(self.host, A)

    def own_capacity(self):
        return own_capacity.OwnCapacity(
            self.context,
            self.client,
            provider_trees.make_holds(self.host, A),
            lambda: None,
        )

    def found(self, amounts):
        """Return [(roots, candidate)] of a request."""
        request = provider_trees.make_request(amounts)
        return [
            (roots, implied_candidates.key(each))
            for roots, each in self.own_capacity().candidates(request)
        ]

    def test_capacity_of_a_child_provider_is_combined_with_that_of_holds(self):
        children = [self.make_provider({B: 2}, self.host) for _ in range(2)]

        expected = [
            ({self.host}, {(self.host, A), (child, B)})
            for child in sorted(children)
        ]
        self.assertEqual(expected, self.found({A: 1, B: 2}))

    def test_free_capacity_of_child_providers_is_read(self):
        child = self.make_provider({B: 2}, self.host)
        self.fill(child, B)
        own = self.own_capacity()
        request = provider_trees.make_request({A: 1, B: 1})
        free = collections.defaultdict(collections.Counter)

        self.assertEqual(1, len([*own.candidates(request)]))
        own.add_to(free)

        self.assertEqual({(self.host, A): 1, (child, B): 1}, free[self.host])

    def test_candidate_with_a_sharing_provider_has_two_roots(self):
        shared = self.make_provider(
            {B: 2}, None, [provider_trees.SHARES], [self.aggregate]
        )

        self.assertEqual(
            [({self.host, shared}, {(self.host, A), (shared, B)})],
            self.found({A: 1, B: 2}),
        )

    def test_capacity_of_a_sharing_provider_is_not_that_of_the_host(self):
        self.make_provider(
            {B: 2}, None, [provider_trees.SHARES], [self.aggregate]
        )
        own = self.own_capacity()
        request = provider_trees.make_request({A: 1, B: 2})
        free = collections.defaultdict(collections.Counter)

        self.assertEqual(1, len([*own.candidates(request)]))
        own.add_to(free)

        self.assertEqual({self.host: {(self.host, A): 1}}, free)

    def set_units(self, **units):
        """Change the inventory of the held class to two of certain units."""
        url = f'/resource_providers/{self.host}/inventories/{A}'
        now = self.admin.get(url).json()
        self.admin.put(url, json={**now, 'total': 2, **units})

    def test_amount_of_a_hold_is_allowed_although_its_units_changed(self):
        self.set_units(min_unit=2)

        self.assertEqual([({self.host}, {(self.host, A)})], self.found({A: 1}))

    def test_amount_that_the_units_forbid_is_no_candidate(self):
        for forbidden, units in (
            (False, {}),
            (True, {'max_unit': 1}),
            (True, {'min_unit': 3}),
            (True, {'step_size': 3}),
        ):
            self.set_units(**{'min_unit': 1, 'max_unit': 9, **units})

            self.assertEqual(forbidden, not self.found({A: 2}), units)

    def test_hold_without_an_inventory_is_no_candidate(self):
        own = own_capacity.OwnCapacity(
            *(self.context, self.client),
            *(provider_trees.make_holds(self.host, B), lambda: None),
        )

        self.assertEqual(
            [], [*own.candidates(provider_trees.make_request({B: 2}))]
        )

    def test_request_with_numbered_groups_has_no_candidates(self):
        request = types.SimpleNamespace(
            to_querystring=lambda: f'resources1={A}:1'
        )

        self.assertEqual([], [*self.own_capacity().candidates(request)])
