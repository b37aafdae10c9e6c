# SPDX-License-Identifier: Apache-2.0
"""Is what is free, and what a seat costs, kept up to date?"""

import math

import fixtures
import hypothesis
from hypothesis import strategies
import numpy as np
from oslotest import base

from nova_groupext.solver.construct import capacity_matrices
from tests.unit.solver import builders
from tests.unit.solver.builders import group
from tests.unit.solver.builders import racks

LARGEST = 2**63 - 1


def make(hosts, classes, **members):
    """A matrices; ``two=3`` are three members of class two, called so too."""
    topology = group(
        **{n: {'class': n, 'count': count} for n, count in members.items()}
    )
    return capacity_matrices.CapacityMatrices(
        builders.problem(hosts, topology, classes)
    )


def asking(**amounts):
    """Classes by name; ``two=2`` asks for two VCPU."""
    return {name: {'request': {'VCPU': n}} for name, n in amounts.items()}


def unit(matrices, name):
    """The unit of the members that a name was given."""
    return next(
        u for u in matrices.units if u.members[0].startswith(f'{name}-')
    )


def of(matrices, table, name):
    """Host id -> what an array by class and host says of a name."""
    row = table[matrices.class_of[unit(matrices, name)]]
    return dict(zip(matrices.hosts, row.tolist(), strict=True))


def state(matrices):
    """All that changes on a matrices."""
    return (
        matrices.free.tolist(),
        matrices.room.tolist(),
        matrices.loss.tolist(),
    )


class TestRoom(base.BaseTestCase):
    def test_is_how_often_a_class_fits_alone(self):
        matrices = make(racks(a=(3, 5, 1)), asking(two=2), two=9)
        self.assertEqual(
            {'a1': 1, 'a2': 2, 'a3': 0}, of(matrices, matrices.room, 'two')
        )

    def test_is_no_more_than_the_members_of_the_class(self):
        matrices = make(racks(a=(9,)), asking(two=2), two=3)
        self.assertEqual({'a1': 3}, of(matrices, matrices.room, 'two'))

    def test_the_scarcest_resource_counts(self):
        hosts = racks(a=(8, 8))
        hosts[0]['free']['MEMORY'] = 5
        classes = {'two': {'request': {'VCPU': 2, 'MEMORY': 2}}}
        matrices = make(hosts, classes, two=9)
        # A host that does not have a resource at all has none of it.
        self.assertEqual(
            {'a1': 2, 'a2': 0}, of(matrices, matrices.room, 'two')
        )

    def test_resources_that_nobody_asks_for_are_left_out(self):
        hosts = racks(a=(8,))
        hosts[0]['free'].update(DISK=0, GPU=3)
        classes = {'two': {'request': {'VCPU': 2, 'DISK': 0}}}
        matrices = make(hosts, classes, two=1)
        self.assertEqual(['VCPU'], matrices.resources)
        self.assertEqual([[8]], matrices.free.tolist())

    def test_who_asks_for_nothing_always_fits(self):
        for request in ({}, {'VCPU': 0}):
            classes = {'none': {'request': request}}
            matrices = make(racks(a=(0, 1)), classes, none=7)
            for _ in range(7):
                matrices.put(unit(matrices, 'none'), 0)
            self.assertEqual(
                {'a1': 7, 'a2': 7}, of(matrices, matrices.room, 'none')
            )
            self.assertEqual(
                {'a1': 0, 'a2': 0}, of(matrices, matrices.loss, 'none')
            )

    def test_a_class_that_may_go_nowhere_has_none(self):
        classes = asking(one=1, two=2)
        classes['two']['hosts'] = []
        matrices = make(racks(a=(8, 8)), classes, one=1, two=1)
        self.assertEqual(
            {'a1': 0, 'a2': 0}, of(matrices, matrices.room, 'two')
        )
        self.assertEqual(
            {'a1': math.inf, 'a2': math.inf},
            of(matrices, matrices.loss, 'two'),
        )
        self.assertFalse(matrices.may(unit(matrices, 'two')).any())
        self.assertEqual(
            {'a1': 1, 'a2': 1}, of(matrices, matrices.room, 'one')
        )

    def test_a_class_has_none_on_hosts_that_it_may_not_use(self):
        classes = asking(one=1)
        classes['one']['hosts'] = ['a2']
        matrices = make(racks(a=(8, 8)), classes, one=1)
        self.assertEqual(
            {'a1': 0, 'a2': 1}, of(matrices, matrices.room, 'one')
        )
        self.assertEqual(
            [False, True], matrices.may(matrices.units[0]).tolist()
        )

    def test_amounts_as_large_as_they_may_be(self):
        classes = asking(all=LARGEST, half=2**62, bit=1)
        matrices = make(racks(a=(LARGEST, 0)), classes, all=2, half=4, bit=9)
        before = state(matrices)
        rooms = [of(matrices, matrices.room, name) for name in classes]
        self.assertEqual(
            [{'a1': 1, 'a2': 0}, {'a1': 1, 'a2': 0}, {'a1': 9, 'a2': 0}], rooms
        )
        self.assertTrue(np.all(matrices.loss >= 0))
        way = matrices.put(unit(matrices, 'all'), 0)
        self.assertEqual([[0], [0]], matrices.free.tolist())
        self.assertFalse(matrices.room.any())
        matrices.take(unit(matrices, 'all'), 0, way)
        self.assertEqual(before, state(matrices))

    def test_a_cloud_is_looked_at_in_parts_if_it_is_large(self):
        # Enough classes for sums to depend on the order of their parts.
        names = [f'c{n}' for n in range(1, 20)]
        classes = {f'c{n}': {'request': {'VCPU': n}} for n in range(1, 20)}
        hosts, counts = racks(a=range(30)), dict.fromkeys(names, 7)
        whole = make(hosts, classes, **counts)
        self.useFixture(
            fixtures.MockPatchObject(capacity_matrices, '_BATCH', 1)
        )
        parts = make(hosts, classes, **counts)
        self.assertEqual(state(whole), state(parts))


class TestLoss(base.BaseTestCase):
    def test_is_endless_where_there_is_no_room(self):
        matrices = make(racks(a=(1, 2)), asking(two=2), two=1)
        loss = of(matrices, matrices.loss, 'two')
        self.assertEqual(math.inf, loss['a1'])
        self.assertLess(loss['a2'], math.inf)

    def test_what_others_could_use_costs_more(self):
        matrices = make(racks(a=(4, 5)), asking(one=1, four=4), one=1, four=1)
        loss = of(matrices, matrices.loss, 'one')
        # On a1 no room is left for four.
        self.assertGreater(loss['a1'], loss['a2'])

    def test_scarce_room_costs_more(self):
        hosts = racks(a=(1, 1, 1), b=(1,))
        for number, host in enumerate(hosts):
            host['free']['GPU'] = int(number == 3)
        classes = asking(one=1)
        classes['gpu'] = {'request': {'VCPU': 1, 'GPU': 1}}
        matrices = make(hosts, classes, one=3, gpu=1)
        loss = of(matrices, matrices.loss, 'one')
        self.assertGreater(loss['b1'], loss['a1'])

    def test_is_looked_at_for_the_scarcest_classes_only(self):
        self.useFixture(
            fixtures.MockPatchObject(capacity_matrices, '_WITNESSES', 1)
        )
        hosts = racks(a=(4, 9, 9))
        matrices = make(hosts, asking(one=1, nine=9), one=1, nine=2)
        loss = of(matrices, matrices.loss, 'one')
        self.assertEqual(0, loss['a1'])
        self.assertGreater(loss['a2'], 0)


class TestWays(base.BaseTestCase):
    """Hosts that offer more than one way."""

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

    def test_they_replace_the_request(self):
        matrices = self.make(gpu=9)
        # By any one of the ways.
        self.assertEqual(
            {'a1': 2, 'a2': 1, 'a3': 2}, of(matrices, matrices.room, 'gpu')
        )

    def test_the_one_that_costs_least_is_taken(self):
        matrices = self.make(gpu=3, other=2)
        gpu = unit(matrices, 'gpu')
        self.assertEqual(1, matrices.put(gpu, 0))
        self.assertEqual(
            {'GPU0': 1, 'GPU1': 1, 'VCPU': 8}, self.free(matrices)
        )
        self.assertEqual(1, matrices.put(gpu, 0))
        self.assertEqual(0, matrices.put(gpu, 0))
        self.assertEqual(math.inf, of(matrices, matrices.loss, 'gpu')['a1'])

    def test_one_that_is_named_is_taken(self):
        matrices = self.make(gpu=3, other=2)
        before = state(matrices)
        gpu = unit(matrices, 'gpu')
        self.assertEqual(0, matrices.put(gpu, 0, 0))
        self.assertEqual(
            {'GPU0': 0, 'GPU1': 2, 'VCPU': 8}, self.free(matrices)
        )
        matrices.take(gpu, 0, 0)
        self.assertEqual(before, state(matrices))

    def test_other_hosts_have_a_single_one(self):
        matrices = self.make(gpu=3)
        gpu = unit(matrices, 'gpu')
        self.assertEqual([0, 0], [matrices.put(gpu, 1), matrices.put(gpu, 2)])
        self.assertEqual(2, matrices.free[2, matrices.resources.index('VCPU')])

    def test_a_member_needs_at_least_what_all_ask_for(self):
        classes = {
            'disk': {
                'request': {'DISK': 5, 'VCPU': 3},
                'alternatives': {'a1': [{'DISK': 9}, {'DISK': 7}]},
            }
        }
        matrices = make(racks(a=(8, 8)), classes, disk=1)
        need = matrices.need_of(matrices.units[0]).tolist()
        self.assertEqual(
            {'DISK': 5, 'VCPU': 0},
            dict(zip(matrices.resources, need, strict=True)),
        )

    def test_places_are_counted_by_an_amount_on_every_host(self):
        matrices = self.make(gpu=3, other=9)
        need = [{'VCPU': 3, 'GPU0': 1}.get(r, 0) for r in matrices.resources]
        self.assertEqual([1, 1, 1], matrices.places(np.array(need)).tolist())
        matrices.put(unit(matrices, 'other'), 1)
        self.assertEqual([1, 0, 1], matrices.places(np.array(need)).tolist())

    @staticmethod
    def free(matrices, host=0):
        row = matrices.free[host].tolist()
        return dict(zip(matrices.resources, row, strict=True))


class TestRemember(base.BaseTestCase):
    def test_changes_are_undone_all_at_once(self):
        matrices = make(racks(a=(9, 9)), asking(one=1, two=2), one=4, two=4)
        before = state(matrices)
        known = matrices.remember(0)
        for name in ('one', 'two', 'one'):
            matrices.put(unit(matrices, name), 0)
        matrices.restore(0, known)
        self.assertEqual(before, state(matrices))

    def test_other_hosts_stay_as_they_are(self):
        matrices = make(racks(a=(9, 9)), asking(one=1, two=2), one=4, two=4)
        known = matrices.remember(0)
        matrices.put(unit(matrices, 'two'), 1)
        expected = state(matrices)
        matrices.put(unit(matrices, 'one'), 0)
        matrices.restore(0, known)
        self.assertEqual(expected, state(matrices))

    def test_so_is_the_choice_of_a_way(self):
        hosts = racks(a=(9,))
        hosts[0]['free'].update(GPU0=1, GPU1=1)
        ways = [{'GPU0': 1}, {'GPU1': 1}]
        classes = {'gpu': {'request': {}, 'alternatives': {'a1': ways}}}
        matrices = make(hosts, classes, gpu=2)
        known = matrices.remember(0)
        first = matrices.put(unit(matrices, 'gpu'), 0)
        self.assertNotEqual(first, matrices.put(unit(matrices, 'gpu'), 0))
        matrices.restore(0, known)
        self.assertEqual(first, matrices.put(unit(matrices, 'gpu'), 0))


class TestStates(base.BaseTestCase):
    """Equal hosts share one cached result."""

    def check(self, matrices, fresh, seats):
        """A matrices is as if only some had ever come."""
        for name, *seat in seats:
            fresh.put(unit(fresh, name), *seat)
        self.assertEqual(state(fresh), state(matrices))

    def fill(self, matrices, name, *hosts):
        return [
            (name, h, matrices.put(unit(matrices, name), h)) for h in hosts
        ]

    def test_hosts_of_different_classes_are_not_alike(self):
        classes = asking(one=1, two=2)
        classes['two']['hosts'] = ['a2', 'a3']
        members = {'one': 9, 'two': 9}
        matrices = make(racks(a=(6, 6, 6)), classes, **members)
        # All are as full; the first one may not take two.
        seats = self.fill(matrices, 'one', 1, 0, 2, 2, 0, 1)
        self.assertEqual(
            {'a1': 0, 'a2': 2, 'a3': 2}, of(matrices, matrices.room, 'two')
        )
        self.check(
            matrices, make(racks(a=(6, 6, 6)), classes, **members), seats
        )

    def test_nor_are_those_with_ways_of_their_own(self):
        ways = {'a1': [{'VCPU': 3}, {'GPU': 1}], 'a2': [{'VCPU': 2}]}
        classes = asking(one=1, gpu=1)
        classes['gpu']['alternatives'] = ways
        hosts = racks(a=(6, 6, 6))
        for host in hosts:
            host['free']['GPU'] = 1
        members = {'one': 9, 'gpu': 9}
        matrices = make(hosts, classes, **members)
        seats = self.fill(matrices, 'one', 0, 1, 2)
        self.assertEqual(
            {'a1': 1, 'a2': 2, 'a3': 5}, of(matrices, matrices.room, 'gpu')
        )
        seats += self.fill(matrices, 'gpu', 2, 0, 1, 0)
        self.check(matrices, make(hosts, classes, **members), seats)

    def test_they_are_forgotten_when_there_are_too_many(self):
        classes, members = asking(one=1, two=2), {'one': 40, 'two': 40}
        self.useFixture(
            fixtures.MockPatchObject(capacity_matrices, '_STATES', 3)
        )
        matrices = make(racks(a=(40, 30, 20)), classes, **members)
        seats = []
        for _ in range(6):
            seats += self.fill(matrices, 'one', 0, 1, 2)
            seats += self.fill(matrices, 'two', 2, 1, 0)
            self.assertLessEqual(len(matrices._states), 3)
        for name, *seat in seats[::2]:
            matrices.take(unit(matrices, name), *seat)
        fresh = make(racks(a=(40, 30, 20)), classes, **members)
        self.check(matrices, fresh, seats[1::2])

    def test_who_changes_what_was_found_changes_no_other_host(self):
        matrices = make(racks(a=(4, 4)), asking(one=1, two=2), one=9, two=9)
        seats = self.fill(matrices, 'one', 0, 1)
        known = matrices.remember(0)
        self.fill(matrices, 'two', 0)
        matrices.restore(0, known)
        fresh = make(racks(a=(4, 4)), asking(one=1, two=2), one=9, two=9)
        self.check(matrices, fresh, seats)


class TestScarcity(base.BaseTestCase):
    def of(self, matrices):
        numbers = {
            u.members[0][:3]: matrices.class_of[u] for u in matrices.units
        }
        return {name: matrices.scarcity[n] for name, n in numbers.items()}

    def test_what_is_asked_for_more_is_scarcer(self):
        few = make(racks(a=(8, 8)), asking(one=1), one=2)
        many = make(racks(a=(8, 8)), asking(one=1), one=9)
        self.assertLess(self.of(few)['one'], self.of(many)['one'])

    def test_so_is_what_others_ask_for_too(self):
        alone = make(racks(a=(8, 8)), asking(one=1, two=2), one=2)
        others = make(racks(a=(8, 8)), asking(one=1, two=2), one=2, two=6)
        self.assertLess(self.of(alone)['one'], self.of(others)['one'])

    def test_only_of_what_a_class_asks_for(self):
        classes = asking(one=1)
        classes['gpu'] = {'request': {'GPU': 1}}
        hosts = racks(a=(8, 8))
        for host in hosts:
            host['free']['GPU'] = 2
        alone = make(hosts, classes, one=2)
        others = make(hosts, classes, one=2, gpu=4)
        self.assertEqual(self.of(alone)['one'], self.of(others)['one'])

    def test_it_has_an_end_where_all_is_asked_for_or_more(self):
        for cpu in (0, 1, 2, LARGEST):
            matrices = make(racks(a=(cpu,)), asking(one=1, all=LARGEST), one=3)
            self.assertTrue(np.isfinite(matrices.scarcity).all())
            self.assertTrue((matrices.scarcity >= 0).all())


class TestLevels(base.BaseTestCase):
    def make(self):
        hosts = [
            builders.host('h1', 'r2'),
            builders.host('h2', 'r1'),
            builders.host('h3'),
            builders.host('h4', 'r2'),
        ]
        return make(hosts, asking(one=1), one=1)

    def test_domains_have_numbers(self):
        matrices = self.make()
        self.assertEqual([0, 1, -1, 0], matrices.level('rack').tolist())
        self.assertEqual(
            [[0, 3], [1]], [d.tolist() for d in matrices.domains('rack')]
        )

    def test_every_host_is_a_domain(self):
        matrices = self.make()
        self.assertEqual([0, 1, 2, 3], matrices.level('host').tolist())
        self.assertEqual(
            [[0], [1], [2], [3]],
            [d.tolist() for d in matrices.domains('host')],
        )

    def test_a_level_may_have_no_domains(self):
        matrices = self.make()
        self.assertEqual([-1] * 4, matrices.level('zone').tolist())
        self.assertEqual([], matrices.domains('zone'))


AMOUNTS = strategies.sampled_from([0, 1, 2, 3, 5, 8, 2**40, LARGEST])
NEEDS = strategies.dictionaries(
    strategies.sampled_from(['X', 'Y', 'Z']),
    strategies.sampled_from([0, 1, 1, 2, 3, 2**39, LARGEST]),
)


@strategies.composite
def clouds(draw):
    """Some hosts, and some classes with ways of their own."""
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
    ways = strategies.lists(NEEDS, min_size=1, max_size=3)
    classes = {
        name: {
            'request': draw(NEEDS),
            'hosts': sorted(draw(strategies.sets(names))),
            'alternatives': draw(strategies.dictionaries(names, ways)),
        }
        for name in ('p', 'q', 's')[: draw(strategies.integers(1, 3))]
    }
    counts = {name: draw(strategies.integers(1, 4)) for name in classes}
    return hosts, classes, counts


class TestAnySequence(base.BaseTestCase):
    """Whoever comes and goes, only who is there matters."""

    @hypothesis.settings(
        max_examples=25, deadline=None, derandomize=True, database=None
    )
    @hypothesis.given(clouds(), strategies.data())
    def test_of_puts_and_takes(self, cloud, data):
        hosts, classes, counts = cloud
        matrices = make(hosts, classes, **counts)
        before = state(matrices)
        seated = []
        for _ in range(data.draw(strategies.integers(1, 12))):
            if seated and data.draw(strategies.booleans()):
                number = data.draw(strategies.integers(0, len(seated) - 1))
                matrices.take(*seated.pop(number))
            else:
                seated += self.sit_down(matrices, data)
                self.check_restored(matrices)
            self.assertTrue((matrices.free >= 0).all())
            self.check_losses(matrices)
        fresh = make(hosts, classes, **counts)
        for unit_, host, way in data.draw(strategies.permutations(seated)):
            number = matrices.units.index(unit_)
            fresh.put(fresh.units[number], host, way)
        self.assertEqual(state(fresh), state(matrices))
        for seat in seated:
            matrices.take(*seat)
        self.assertEqual(before, state(matrices))

    def sit_down(self, matrices, data):
        """Put a member of some unit where it has room."""
        unit_ = data.draw(strategies.sampled_from(matrices.units))
        room = matrices.room[matrices.class_of[unit_]]
        if not room.any():
            return []
        hosts = np.flatnonzero(room).tolist()
        host = data.draw(strategies.sampled_from(hosts))
        return [(unit_, host, matrices.put(unit_, host))]

    def check_restored(self, matrices):
        """An assignment that is undone at once leaves no trace."""
        before = state(matrices)
        for unit_ in matrices.units:
            room = matrices.room[matrices.class_of[unit_]]
            for host in np.flatnonzero(room).tolist():
                known = matrices.remember(host)
                matrices.put(unit_, host)
                matrices.restore(host, known)
        self.assertEqual(before, state(matrices))

    def check_losses(self, matrices):
        """A seat costs the room that goes, and has a cost if it has room."""
        for unit_ in matrices.units:
            number = matrices.class_of[unit_]
            room, loss = matrices.room[number], matrices.loss[number].copy()
            self.assertEqual((room > 0).tolist(), (loss < math.inf).tolist())
            for host in np.flatnonzero(room).tolist():
                before = matrices.room.copy()
                way = matrices.put(unit_, host)
                gone = ((before - matrices.room).T @ matrices.scarcity).sum()
                matrices.take(unit_, host, way)
                self.assertAlmostEqual(float(loss[host]), float(gone))
