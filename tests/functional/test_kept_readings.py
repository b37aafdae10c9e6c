# SPDX-License-Identifier: Apache-2.0
"""Planners that start from the reading of the group before."""

import time

from nova.scheduler.filters import compute_filter

from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.scheduler.current import current_holds
from nova_groupext.scheduler.look import kept_reading
from nova_groupext.scheduler.look import look
from tests.functional import base
from tests.functional import foreign_consumers

APART = {'type': 'anti-affinity', 'scope': 'host'}
TWO_APART = {'members': {'a': base.member(count=2)}, 'policies': [APART]}


class TestKeptReadings(base.StepTestCase):
    """A cloud of three hosts that counts as large.

    :ivar ages: whether each look of the planner was one at the whole cloud
    """

    HOSTS = tuple(
        hosts.Host(f'cmp-{number}', f'r{number % 2}', 'az1', vcpus=8)
        for number in range(3)
    )

    def setUp(self):
        super().setUp()
        self.ages = []
        large_cloud(self)
        kept_class = kept_reading.KeptReading
        begin, find = kept_class.begin, kept_class.find
        born = time.monotonic()

        def record(*args, **kwargs):
            start = begin(*args, **kwargs)
            self.ages.append('old' if start.reading else 'new')
            return start

        def find_own(kept):
            """Skip what an earlier test has left."""
            reading = find(kept)
            return reading and (reading if reading.began > born else None)

        self.patch(kept_class, 'begin', record)
        self.patch(kept_class, 'find', find_own)

    def read_full_cloud_and_free_a_host(self):
        """Have a planner read the cloud while only one host is free."""
        consumers = [
            foreign_consumers.fill(self.cloud, host.name, VCPU=8)
            for host in self.HOSTS[1:]
        ]
        for consumer in consumers:
            self.delete_allocations_later(consumer)
        self.hold_group({'members': {'a': base.member()}})
        # Other than a POST, this changes no generation.
        self.cloud.placement.delete(f'/allocations/{consumers[0]}')

    def test_next_group_is_planned_from_the_reading_of_the_first(self):
        self.hold_group(TWO_APART)

        self.hold_group(TWO_APART)

        self.assertEqual(['new', 'old'], self.ages)
        self.assertEqual([8 * 3 - 4], [sum(self.free().values())])

    def test_group_is_not_refused_when_capacity_was_freed(self):
        self.read_full_cloud_and_free_a_host()

        self.hold_group(TWO_APART)

        self.assertEqual(['new', 'old', 'new'], self.ages)

    def test_no_member_is_left_out_when_capacity_was_freed(self):
        self.read_full_cloud_and_free_a_host()

        group = self.hold_group(
            {
                'members': {'a': base.member(count=2, min_count=1)},
                'policies': [APART],
            }
        )

        self.assertEqual(2, len(self.holds_of(group['id'])))
        self.assertEqual(['new', 'old', 'new'], self.ages)

    def test_group_is_refused_after_a_look_at_the_whole_cloud(self):
        self.hold_group(TWO_APART)

        group = self.describe(
            {'members': {'a': base.member(count=4)}, 'policies': [APART]}
        )

        self.assertEqual('REFUSED', group['status'], group)
        self.assertEqual(['new', 'old', 'new'], self.ages)

    def test_host_that_was_disabled_is_not_used(self):
        self.hold_group(TWO_APART)
        disable(self, 'cmp-0')

        hosts_now = {
            host
            for _each in range(2)
            for host in self.planned_hosts(
                self.hold_group(TWO_APART)['id']
            ).values()
        }

        self.assertEqual({'cmp-1', 'cmp-2'}, hosts_now)

    def test_aggregate_in_placement_alone_is_seen_at_once(self):
        """Nova's filters know nothing of these."""
        in_zone = {
            'members': {'a': base.member(count=2, availability_zone='az1')},
            'policies': [APART],
        }
        self.hold_group(in_zone)
        self.take_aggregates_away('cmp-0')

        second = self.hold_group(in_zone)['id']

        self.assertEqual(
            {'cmp-1', 'cmp-2'}, {*self.planned_hosts(second).values()}
        )
        self.assertEqual(['new', 'old'], self.ages)

    def take_aggregates_away(self, host):
        """Remove the aggregates of a host in Placement until the end."""
        url = f'/resource_providers/{self.cloud.provider(host)}/aggregates'

        def put(aggregates):
            now = self.cloud.placement.get(url).json()
            self.cloud.placement.put(
                url, json={**now, 'aggregates': aggregates}
            )
            return now['aggregates']

        self.addCleanup(put, put([]))

    def test_aggregate_is_seen_at_once(self):
        self.hold_group(TWO_APART)
        aggregates = self.cloud.nova('admin').aggregates
        [zone] = [each for each in aggregates.list() if each.availability_zone]
        aggregates.remove_host(zone, 'cmp-0')
        self.addCleanup(aggregates.add_host, zone, 'cmp-0')

        self.hold_group(
            {
                'members': {
                    'a': base.member(count=2, availability_zone='az1')
                },
                'policies': [APART],
            }
        )

        self.assertEqual(['new', 'new'], self.ages)


class TestOldLooks(base.StepTestCase):
    """An old look is compared with a new one.

    The group has two holds, on hosts that are full but for one unit.
    """

    HOSTS = TestKeptReadings.HOSTS

    def setUp(self):
        super().setUp()
        large_cloud(self)
        self.uuid = self.hold_group(TWO_APART)['id']
        self.full = sorted(self.planned_hosts(self.uuid).values())
        for host in self.full:
            self.fill(host, VCPU=6)
        self.kept = kept_reading.KeptReading()
        self.look_at(self.uuid)

    def look_at(self, uuid, excluded=frozenset(), **kwargs):
        group = objects.VRTGroup.get(self.context, uuid)
        return look.look(
            *(self.context, group, self.placement_client, excluded),
            current_holds.CurrentHolds.read(self.context, group),
            kept=self.kept,
            **kwargs,
        )

    def assert_equal_looks(self, uuid, candidates):
        """Check an old and a new look of a group.

        :param candidates: expected hosts of its class
        """
        old = self.look_at(uuid, may_be_old=True)
        new = self.look_at(uuid)

        self.assertEqual((True, False), (old.is_old, new.is_old))
        [found] = new.classes.values()
        self.assertEqual(candidates, {*found.candidates})
        for each in (new, old):
            # A host that was a candidate still has its amounts, if too small.
            each.free = {
                host: each.problem.hosts[host].free for host in candidates
            }
            each.candidates = {
                name: member_class.candidates
                for name, member_class in each.classes.items()
            }
        self.assertEqual(new.free, old.free)
        self.assertEqual(new.candidates, old.candidates)

    def test_capacity_that_others_have_taken_is_missing(self):
        [other] = {each.name for each in self.HOSTS} - {*self.full}
        self.fill(other, VCPU=8)

        self.assert_equal_looks(self.uuid, {*self.full})

    def test_host_that_one_look_excludes_is_there_in_the_next(self):
        """The member of one group has failed there, those of others not."""
        hosts = {each.name for each in self.HOSTS}
        [class_name] = self.look_at(self.uuid).classes
        excluded = frozenset((class_name, each) for each in hosts)
        self.look_at(self.uuid, excluded)

        self.assert_equal_looks(self.uuid, hosts)

    def test_own_capacity_is_not_offered_to_others(self):
        for host in self.full:
            self.fill(host, VCPU=1)
        self.look_at(self.uuid)
        another = self.hold_group({'members': {'a': base.member()}})['id']
        [other] = {each.name for each in self.HOSTS} - {*self.full}

        self.assert_equal_looks(another, {other})

    def test_own_hosts_are_filtered_as_they_are_now(self):
        for host in self.full:
            self.fill(host, VCPU=1)
        self.look_at(self.uuid)
        passes = compute_filter.ComputeFilter.host_passes
        self.patch(
            compute_filter.ComputeFilter,
            'host_passes',
            lambda this, host, spec: (
                host.nodename != self.full[0] and passes(this, host, spec)
            ),
        )

        self.assert_equal_looks(
            self.uuid, {each.name for each in self.HOSTS} - {self.full[0]}
        )


def large_cloud(test):
    """Make the cloud of a test count as large."""
    for name, number in (('MIN_HOSTS', 1), ('MAX_CHANGED_SHARE', 1)):
        test.patch(kept_reading, name, number)


def disable(test, host):
    """Disable a host until the end of a test."""
    services = test.cloud.nova('admin').services
    [service] = services.list(host=host, binary='nova-compute')
    services.disable(service.id)
    test.addCleanup(services.enable, service.id)
