# SPDX-License-Identifier: Apache-2.0
"""Capacity matrices: free capacity and opportunity costs."""

import math

import fixtures
import hypothesis
from hypothesis import strategies
import numpy as np
from oslotest import base

from nova_groupext.solver import tuning
from nova_groupext.solver.construct import capacity_matrices
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import racks

LARGEST = 2**63 - 1


def make(hosts, classes, **members):
    """Return matrices; ``two=3`` are three members of a class ``two``."""
    topology = group(
        **{n: {'class': n, 'count': count} for n, count in members.items()}
    )
    return capacity_matrices.CapacityMatrices(
        builders.problem(hosts, topology, classes)
    )


def asking(**amounts):
    """Return {name: class}; ``two=2`` requests two VCPU."""
    return {name: {'request': {'VCPU': n}} for name, n in amounts.items()}


def eq_class(matrices, name):
    """Return the equivalence class of the members with a name."""
    return next(
        eq_class
        for eq_class in matrices.eq_classes
        if eq_class.members[0].startswith(f'{name}-')
    )


def of(matrices, table, name):
    """Return {host id: value of a table for a name}."""
    row = table[matrices.class_of[eq_class(matrices, name)]]
    return dict(zip(matrices.hosts, row.tolist(), strict=True))


def state(matrices):
    """Return all values of matrices that change."""
    return (
        matrices.free.tolist(),
        matrices.capacity.tolist(),
        matrices.opportunity_cost.tolist(),
    )


class TestCapacity(base.BaseTestCase):
    def test_capacity_is_the_number_of_members_that_fit_alone(self):
        matrices = make(racks(a=(3, 5, 1)), asking(two=2), two=9)
        self.assertEqual(
            {'a1': 1, 'a2': 2, 'a3': 0}, of(matrices, matrices.capacity, 'two')
        )

    def test_capacity_is_limited_by_the_size_of_the_class(self):
        matrices = make(racks(a=(9,)), asking(two=2), two=3)
        self.assertEqual({'a1': 3}, of(matrices, matrices.capacity, 'two'))

    def test_scarcest_resource_limits_the_capacity(self):
        hosts = racks(a=(8, 8))
        hosts[0]['free']['MEMORY'] = 5
        classes = {'two': {'request': {'VCPU': 2, 'MEMORY': 2}}}
        matrices = make(hosts, classes, two=9)
        # A host that does not have a resource at all has none of it.
        self.assertEqual(
            {'a1': 2, 'a2': 0}, of(matrices, matrices.capacity, 'two')
        )

    def test_unrequested_resources_are_left_out(self):
        hosts = racks(a=(8,))
        hosts[0]['free'].update(DISK=0, GPU=3)
        classes = {'two': {'request': {'VCPU': 2, 'DISK': 0}}}
        matrices = make(hosts, classes, two=1)
        self.assertEqual(['VCPU'], matrices.resources)
        self.assertEqual([[8]], matrices.free.tolist())

    def test_class_without_a_request_always_fits(self):
        for request in ({}, {'VCPU': 0}):
            classes = {'none': {'request': request}}
            matrices = make(racks(a=(0, 1)), classes, none=7)
            for _ in range(7):
                matrices.assign(eq_class(matrices, 'none'), 0)
            self.assertEqual(
                {'a1': 7, 'a2': 7}, of(matrices, matrices.capacity, 'none')
            )
            self.assertEqual(
                {'a1': 0, 'a2': 0},
                of(matrices, matrices.opportunity_cost, 'none'),
            )

    def test_class_without_hosts_has_no_capacity(self):
        classes = asking(one=1, two=2)
        classes['two']['hosts'] = []
        matrices = make(racks(a=(8, 8)), classes, one=1, two=1)
        self.assertEqual(
            {'a1': 0, 'a2': 0}, of(matrices, matrices.capacity, 'two')
        )
        self.assertEqual(
            {'a1': math.inf, 'a2': math.inf},
            of(matrices, matrices.opportunity_cost, 'two'),
        )
        self.assertFalse(
            matrices.allowed_mask(eq_class(matrices, 'two')).any()
        )
        self.assertEqual(
            {'a1': 1, 'a2': 1}, of(matrices, matrices.capacity, 'one')
        )

    def test_host_outside_the_class_has_no_capacity(self):
        classes = asking(one=1)
        classes['one']['hosts'] = ['a2']
        matrices = make(racks(a=(8, 8)), classes, one=1)
        self.assertEqual(
            {'a1': 0, 'a2': 1}, of(matrices, matrices.capacity, 'one')
        )
        self.assertEqual(
            [False, True],
            matrices.allowed_mask(matrices.eq_classes[0]).tolist(),
        )

    def test_largest_amounts_do_not_overflow(self):
        classes = asking(all=LARGEST, half=2**62, bit=1)
        matrices = make(racks(a=(LARGEST, 0)), classes, all=2, half=4, bit=9)
        before = state(matrices)
        capacities = [
            of(matrices, matrices.capacity, name) for name in classes
        ]
        self.assertEqual(
            [{'a1': 1, 'a2': 0}, {'a1': 1, 'a2': 0}, {'a1': 9, 'a2': 0}],
            capacities,
        )
        self.assertTrue(np.all(matrices.opportunity_cost >= 0))
        option = matrices.assign(eq_class(matrices, 'all'), 0)
        self.assertEqual([[0], [0]], matrices.free.tolist())
        self.assertFalse(matrices.capacity.any())
        matrices.change([(eq_class(matrices, 'all'), 0, option)], -1)
        self.assertEqual(before, state(matrices))

    def test_matrices_made_in_batches_are_the_same(self):
        # Enough classes for sums to depend on the order of their parts.
        names = [f'c{n}' for n in range(1, 20)]
        classes = {f'c{n}': {'request': {'VCPU': n}} for n in range(1, 20)}
        hosts, counts = racks(a=range(30)), dict.fromkeys(names, 7)
        whole = make(hosts, classes, **counts)
        self.useFixture(fixtures.MockPatchObject(tuning, 'BATCH_SIZE', 1))
        restrict_classes = make(hosts, classes, **counts)
        self.assertEqual(state(whole), state(restrict_classes))


class TestOpportunityCost(base.BaseTestCase):
    def test_cost_of_a_full_host_is_infinite(self):
        matrices = make(racks(a=(1, 2)), asking(two=2), two=1)
        opportunity_cost = of(matrices, matrices.opportunity_cost, 'two')
        self.assertEqual(math.inf, opportunity_cost['a1'])
        self.assertLess(opportunity_cost['a2'], math.inf)

    def test_capacity_useful_to_other_classes_costs_more(self):
        matrices = make(racks(a=(4, 5)), asking(one=1, four=4), one=1, four=1)
        opportunity_cost = of(matrices, matrices.opportunity_cost, 'one')
        # On a1 no capacity remains for four.
        self.assertGreater(opportunity_cost['a1'], opportunity_cost['a2'])

    def test_scarce_capacity_costs_more(self):
        hosts = racks(a=(1, 1, 1), b=(1,))
        for number, host in enumerate(hosts):
            host['free']['GPU'] = int(number == 3)
        classes = asking(one=1)
        classes['gpu'] = {'request': {'VCPU': 1, 'GPU': 1}}
        matrices = make(hosts, classes, one=3, gpu=1)
        opportunity_cost = of(matrices, matrices.opportunity_cost, 'one')
        self.assertGreater(opportunity_cost['b1'], opportunity_cost['a1'])

    def test_cost_counts_only_the_scarcest_classes(self):
        self.useFixture(fixtures.MockPatchObject(tuning, 'MAX_SCARCEST', 1))
        hosts = racks(a=(4, 9, 9))
        matrices = make(hosts, asking(one=1, nine=9), one=1, nine=2)
        opportunity_cost = of(matrices, matrices.opportunity_cost, 'one')
        self.assertEqual(0, opportunity_cost['a1'])
        self.assertGreater(opportunity_cost['a2'], 0)


class TestAlternatives(base.BaseTestCase):
    """Hosts with several alternatives of a request."""

    CLASSES = {
        'gpu': {
            'request': {'VCPU': 2},
            'alternatives': {
                'a1': [{'GPU0': 1}, {'GPU1': 1}],
                'a2': [{'GPU0': 1}],
            },
        },
        'other': {'request': {'GPU0': 1}},
    }

    def make(self, **members):
        hosts = racks(a=(8, 8, 4))
        for host in hosts:
            host['free'].update(GPU0=1, GPU1=2)
        return make(hosts, self.CLASSES, **members)

    def test_alternatives_replace_the_request(self):
        matrices = self.make(gpu=9)
        # Any alternative will do.
        self.assertEqual(
            {'a1': 2, 'a2': 1, 'a3': 2}, of(matrices, matrices.capacity, 'gpu')
        )

    def test_cheapest_alternative_is_taken(self):
        matrices = self.make(gpu=3, other=2)
        gpu = eq_class(matrices, 'gpu')
        self.assertEqual(1, matrices.assign(gpu, 0))
        self.assertEqual(
            {'GPU0': 1, 'GPU1': 1, 'VCPU': 8}, self.free(matrices)
        )
        self.assertEqual(1, matrices.assign(gpu, 0))
        self.assertEqual(0, matrices.assign(gpu, 0))
        self.assertEqual(
            math.inf, of(matrices, matrices.opportunity_cost, 'gpu')['a1']
        )

    def test_named_alternative_is_taken(self):
        matrices = self.make(gpu=3, other=2)
        before = state(matrices)
        gpu = eq_class(matrices, 'gpu')
        self.assertEqual(0, matrices.assign(gpu, 0, 0))
        self.assertEqual(
            {'GPU0': 0, 'GPU1': 2, 'VCPU': 8}, self.free(matrices)
        )
        matrices.change([(gpu, 0, 0)], -1)
        self.assertEqual(before, state(matrices))

    def test_host_without_alternatives_has_a_single_one(self):
        matrices = self.make(gpu=3)
        gpu = eq_class(matrices, 'gpu')
        self.assertEqual(
            [0, 0], [matrices.assign(gpu, 1), matrices.assign(gpu, 2)]
        )
        self.assertEqual(2, matrices.free[2, matrices.resources.index('VCPU')])

    def test_need_of_a_class_is_the_least_of_its_alternatives(self):
        classes = {
            'disk': {
                'request': {'DISK': 5, 'VCPU': 3},
                'alternatives': {'a1': [{'DISK': 9}, {'DISK': 7}]},
            }
        }
        matrices = make(racks(a=(8, 8)), classes, disk=1)
        need = matrices.need_of(matrices.eq_classes[0]).tolist()
        self.assertEqual(
            {'DISK': 5, 'VCPU': 0},
            dict(zip(matrices.resources, need, strict=True)),
        )

    def test_capacity_for_an_amount_is_counted_on_every_host(self):
        matrices = self.make(gpu=3, other=9)
        need = [{'VCPU': 3, 'GPU0': 1}.get(r, 0) for r in matrices.resources]
        self.assertEqual(
            [1, 1, 1], matrices.count_fits(np.array(need)).tolist()
        )
        matrices.assign(eq_class(matrices, 'other'), 1)
        self.assertEqual(
            [1, 0, 1], matrices.count_fits(np.array(need)).tolist()
        )

    @staticmethod
    def free(matrices, host=0):
        row = matrices.free[host].tolist()
        return dict(zip(matrices.resources, row, strict=True))


class TestRestore(base.BaseTestCase):
    def test_restore_undoes_all_changes_of_a_host(self):
        matrices = make(racks(a=(9, 9)), asking(one=1, two=2), one=4, two=4)
        before = state(matrices)
        saved = matrices.save(0)
        for name in ('one', 'two', 'one'):
            matrices.assign(eq_class(matrices, name), 0)
        matrices.restore(0, saved)
        self.assertEqual(before, state(matrices))

    def test_restore_keeps_changes_of_other_hosts(self):
        matrices = make(racks(a=(9, 9)), asking(one=1, two=2), one=4, two=4)
        saved = matrices.save(0)
        matrices.assign(eq_class(matrices, 'two'), 1)
        expected = state(matrices)
        matrices.assign(eq_class(matrices, 'one'), 0)
        matrices.restore(0, saved)
        self.assertEqual(expected, state(matrices))

    def test_restore_undoes_the_choice_of_an_alternative(self):
        hosts = racks(a=(9,))
        hosts[0]['free'].update(GPU0=1, GPU1=1)
        options = [{'GPU0': 1}, {'GPU1': 1}]
        classes = {'gpu': {'request': {}, 'alternatives': {'a1': options}}}
        matrices = make(hosts, classes, gpu=2)
        saved = matrices.save(0)
        first = matrices.assign(eq_class(matrices, 'gpu'), 0)
        self.assertNotEqual(
            first, matrices.assign(eq_class(matrices, 'gpu'), 0)
        )
        matrices.restore(0, saved)
        self.assertEqual(first, matrices.assign(eq_class(matrices, 'gpu'), 0))


class TestStates(base.BaseTestCase):
    """Equal hosts share one cached result."""

    def check(self, matrices, fresh, assignments):
        """Assert that matrices equal fresh ones with some assignments."""
        for name, *assignment in assignments:
            fresh.assign(eq_class(fresh, name), *assignment)
        self.assertEqual(state(fresh), state(matrices))

    def assign_to(self, matrices, name, *hosts):
        return [
            (name, h, matrices.assign(eq_class(matrices, name), h))
            for h in hosts
        ]

    def test_hosts_of_different_classes_share_no_result(self):
        classes = asking(one=1, two=2)
        classes['two']['hosts'] = ['a2', 'a3']
        members = {'one': 9, 'two': 9}
        matrices = make(racks(a=(6, 6, 6)), classes, **members)
        # All are as full; the first one may not take two.
        assignments = self.assign_to(matrices, 'one', 1, 0, 2, 2, 0, 1)
        self.assertEqual(
            {'a1': 0, 'a2': 2, 'a3': 2}, of(matrices, matrices.capacity, 'two')
        )
        self.check(
            matrices, make(racks(a=(6, 6, 6)), classes, **members), assignments
        )

    def test_hosts_of_different_alternatives_share_no_result(self):
        options = {'a1': [{'VCPU': 3}, {'GPU': 1}], 'a2': [{'VCPU': 2}]}
        classes = asking(one=1, gpu=1)
        classes['gpu']['alternatives'] = options
        hosts = racks(a=(6, 6, 6))
        for host in hosts:
            host['free']['GPU'] = 1
        members = {'one': 9, 'gpu': 9}
        matrices = make(hosts, classes, **members)
        assignments = self.assign_to(matrices, 'one', 0, 1, 2)
        self.assertEqual(
            {'a1': 1, 'a2': 2, 'a3': 5}, of(matrices, matrices.capacity, 'gpu')
        )
        assignments += self.assign_to(matrices, 'gpu', 2, 0, 1, 0)
        self.check(matrices, make(hosts, classes, **members), assignments)

    def test_results_beyond_the_limit_are_dropped(self):
        classes, members = asking(one=1, two=2), {'one': 40, 'two': 40}
        self.useFixture(
            fixtures.MockPatchObject(tuning, 'MAX_CACHED_STATES', 3)
        )
        matrices = make(racks(a=(40, 30, 20)), classes, **members)
        assignments = []
        for _ in range(6):
            assignments += self.assign_to(matrices, 'one', 0, 1, 2)
            assignments += self.assign_to(matrices, 'two', 2, 1, 0)
            self.assertLessEqual(len(matrices._cached_columns), 3)
        for name, *assignment in assignments[::2]:
            matrices.change([(eq_class(matrices, name), *assignment)], -1)
        fresh = make(racks(a=(40, 30, 20)), classes, **members)
        self.check(matrices, fresh, assignments[1::2])

    def test_change_of_a_host_does_not_change_its_cached_result(self):
        matrices = make(racks(a=(4, 4)), asking(one=1, two=2), one=9, two=9)
        assignments = self.assign_to(matrices, 'one', 0, 1)
        saved = matrices.save(0)
        self.assign_to(matrices, 'two', 0)
        matrices.restore(0, saved)
        fresh = make(racks(a=(4, 4)), asking(one=1, two=2), one=9, two=9)
        self.check(matrices, fresh, assignments)


class TestScarcity(base.BaseTestCase):
    def of(self, matrices):
        numbers = {
            eq_class.members[0][:3]: matrices.class_of[eq_class]
            for eq_class in matrices.eq_classes
        }
        return {name: matrices.scarcity[n] for name, n in numbers.items()}

    def test_class_with_more_members_is_scarcer(self):
        few = make(racks(a=(8, 8)), asking(one=1), one=2)
        many = make(racks(a=(8, 8)), asking(one=1), one=9)
        self.assertLess(self.of(few)['one'], self.of(many)['one'])

    def test_class_that_shares_its_resources_is_scarcer(self):
        alone = make(racks(a=(8, 8)), asking(one=1, two=2), one=2)
        others = make(racks(a=(8, 8)), asking(one=1, two=2), one=2, two=6)
        self.assertLess(self.of(alone)['one'], self.of(others)['one'])

    def test_unrequested_resources_do_not_change_the_scarcity(self):
        classes = asking(one=1)
        classes['gpu'] = {'request': {'GPU': 1}}
        hosts = racks(a=(8, 8))
        for host in hosts:
            host['free']['GPU'] = 2
        alone = make(hosts, classes, one=2)
        others = make(hosts, classes, one=2, gpu=4)
        self.assertEqual(self.of(alone)['one'], self.of(others)['one'])

    def test_scarcity_of_exhausted_resources_is_finite(self):
        for cpu in (0, 1, 2, LARGEST):
            matrices = make(racks(a=(cpu,)), asking(one=1, all=LARGEST), one=3)
            self.assertTrue(np.isfinite(matrices.scarcity).all())
            self.assertTrue((matrices.scarcity >= 0).all())


AMOUNTS = strategies.sampled_from([0, 1, 2, 3, 5, 8, 2**40, LARGEST])
NEEDS = strategies.dictionaries(
    strategies.sampled_from(['X', 'Y', 'Z']),
    strategies.sampled_from([0, 1, 1, 2, 3, 2**39, LARGEST]),
)


@strategies.composite
def clouds(draw):
    """Random hosts, and random classes with alternatives."""
    hosts = [
        {
            'id': f'h{number}',
            'free': draw(
                strategies.dictionaries(
                    strategies.sampled_from(['X', 'Y', 'Z']), AMOUNTS
                )
            ),
        }
        for number in range(draw(strategies.integers(1, 4)))
    ]
    names = strategies.sampled_from([host['id'] for host in hosts])
    options = strategies.lists(NEEDS, min_size=1, max_size=3)
    classes = {
        name: {
            'request': draw(NEEDS),
            'hosts': sorted(draw(strategies.sets(names))),
            'alternatives': draw(strategies.dictionaries(names, options)),
        }
        for name in ('p', 'q', 's')[: draw(strategies.integers(1, 3))]
    }
    counts = {name: draw(strategies.integers(1, 4)) for name in classes}
    return hosts, classes, counts


class TestAnySequence(base.BaseTestCase):
    """Only the present assignments matter, not the order of changes."""

    @hypothesis.settings(
        max_examples=25, deadline=None, derandomize=True, database=None
    )
    @hypothesis.given(clouds(), strategies.data())
    def test_assignments_in_any_order_give_equal_matrices(self, cloud, data):
        hosts, classes, counts = cloud
        matrices = make(hosts, classes, **counts)
        before = state(matrices)
        assigned = []
        for _ in range(data.draw(strategies.integers(1, 12))):
            if assigned and data.draw(strategies.booleans()):
                number = data.draw(strategies.integers(0, len(assigned) - 1))
                matrices.change([assigned.pop(number)], -1)
            else:
                assigned += self.assign_random_member(matrices, data)
                self.check_restored(matrices)
            self.assertTrue((matrices.free >= 0).all())
            self.check_opportunity_costs(matrices)
        fresh = make(hosts, classes, **counts)
        for random_class, host, option in data.draw(
            strategies.permutations(assigned)
        ):
            number = matrices.eq_classes.index(random_class)
            fresh.assign(fresh.eq_classes[number], host, option)
        self.assertEqual(state(fresh), state(matrices))
        matrices.change(assigned, -1)
        self.assertEqual(before, state(matrices))
        matrices.change(assigned, 1)
        self.assertEqual(state(fresh), state(matrices))

    def assign_random_member(self, matrices, data):
        """Assign a member of a random class to a host with capacity."""
        random_class = data.draw(strategies.sampled_from(matrices.eq_classes))
        capacity = matrices.capacity[matrices.class_of[random_class]]
        if not capacity.any():
            return []
        hosts = np.flatnonzero(capacity).tolist()
        host = data.draw(strategies.sampled_from(hosts))
        return [(random_class, host, matrices.assign(random_class, host))]

    def check_restored(self, matrices):
        """Assert that an assignment that is undone leaves no trace."""
        before = state(matrices)
        for random_class in matrices.eq_classes:
            capacity = matrices.capacity[matrices.class_of[random_class]]
            for host in np.flatnonzero(capacity).tolist():
                saved = matrices.save(host)
                matrices.assign(random_class, host)
                matrices.restore(host, saved)
        self.assertEqual(before, state(matrices))

    def check_opportunity_costs(self, matrices):
        """Assert that a cost is the scarcity of the capacity that is lost."""
        for random_class in matrices.eq_classes:
            number = matrices.class_of[random_class]
            capacity, opportunity_cost = (
                matrices.capacity[number],
                matrices.opportunity_cost[number].copy(),
            )
            self.assertEqual(
                (capacity > 0).tolist(), (opportunity_cost < math.inf).tolist()
            )
            for host in np.flatnonzero(capacity).tolist():
                before = matrices.capacity.copy()
                option = matrices.assign(random_class, host)
                lost = (
                    (before - matrices.capacity).T @ matrices.scarcity
                ).sum()
                matrices.change([(random_class, host, option)], -1)
                self.assertAlmostEqual(
                    float(opportunity_cost[host]), float(lost)
                )
