# SPDX-License-Identifier: Apache-2.0
"""Looks at a cloud that changes at random, compared with Nova's own way."""

import random

from nova.scheduler import manager as nova_manager

from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.scheduler.look import kept_reading
from nova_groupext.scheduler.look import look
from nova_groupext.scheduler.nova import request_specs
from tests import shares
from tests.benchmarks.scheduler import naive
from tests.functional import base
from tests.functional import foreign_consumers
from tests.functional import test_kept_readings

# Three classes of members
DESCRIBED = {
    'members': {
        'tiny': base.member('m1.tiny'),
        'zoned': base.member('m1.tiny', availability_zone='az1'),
        'large': base.member('m1.medium'),
    }
}
SEEDS = 20
CHANGES = 12


class TestRandomLooks(base.StepTestCase):
    HOSTS = tuple(
        hosts.Host(f'cmp-{number}', f'r{number % 3}', f'az{number % 2}')
        for number in range(6)
    )

    def setUp(self):
        super().setUp()
        test_kept_readings.large_cloud(self)
        self.planned = objects.VRTGroup.get(
            self.context, self.describe(DESCRIBED, hold=False)['id']
        )
        self.stock = nova_manager.SchedulerManager()
        self.kept = kept_reading.KeptReading()
        self.nova = self.cloud.nova('admin')
        self.fillers, self.uuids, self.taken = [], [], []
        self.addCleanup(self.put_all_back)

    # -- changes -------------------------------------------------------------

    def host(self):
        return self.random.choice(self.HOSTS).name

    def allocate(self):
        host = self.host()
        amount = self.random.randint(1, 4)
        if self.free()[host] >= amount:
            consumer = foreign_consumers.fill(self.cloud, host, VCPU=amount)
            self.delete_allocations_later(consumer)
            self.fillers.append(consumer)

    def empty(self):
        """Delete allocations, which raises no generation."""
        if self.fillers:
            consumer = self.random.choice(self.fillers)
            self.fillers.remove(consumer)
            self.cloud.placement.delete(f'/allocations/{consumer}')

    def hold(self):
        member = base.member(count=self.random.randint(1, 3), min_count=1)
        self.uuids.append(self.describe({'members': {'a': member}})['id'])

    def delete(self):
        if self.uuids:
            self.delete_group(self.uuids.pop())

    def switch(self):
        """Disable the service of a host, or enable it again."""
        [service] = self.nova.services.list(
            host=self.host(), binary='nova-compute'
        )
        if service.status == 'enabled':
            self.nova.services.disable(service.id)
            self.addCleanup(self.nova.services.enable, service.id)
        else:
            self.nova.services.enable(service.id)

    def move(self):
        """Take a host out of an aggregate, or put it back."""
        host = self.host()
        aggregate = self.random.choice(self.nova.aggregates.list())
        if host in aggregate.hosts:
            self.nova.aggregates.remove_host(aggregate, host)
            self.taken.append((aggregate.id, host))
        elif (aggregate.id, host) in self.taken:
            self.put_back(aggregate.id, host)

    def put_back(self, aggregate, host):
        self.taken.remove((aggregate, host))
        self.nova.aggregates.add_host(aggregate, host)

    def put_all_back(self):
        for aggregate, host in [*self.taken]:
            self.put_back(aggregate, host)

    def reserve(self):
        reserved = self.random.randint(0, 2)
        self.change_inventory(
            self.cloud.provider(self.host()), reserved=reserved
        )

    # -- looks ---------------------------------------------------------------

    def look(self, **kwargs):
        return look.look(
            *(self.context, self.planned, self.placement_client),
            kept=self.kept,
            **kwargs,
        )

    def naive_look(self, path):
        [member] = [m for m in self.planned.members if m.path == path]
        spec = request_specs.make_spec(
            *(self.context, member.resolved_request),
            *(self.planned.project_id, self.planned.user_id),
        )
        return naive.look(self.context, self.stock, spec)

    def compare(self):
        """Compare a look from the kept reading, a new one, and Nova's."""
        old, new = self.look(may_be_old=True), self.look()
        self.assertFalse(new.is_old)
        for path in DESCRIBED['members']:
            found = new.class_of_member(path)
            by_nova = self.naive_look(path)
            self.assertEqual(
                {*by_nova.candidates}, {*found.candidates}, self.told
            )
            for host, requests in by_nova.candidates.items():
                self.assertEqual(
                    [each['allocations'] for each in requests],
                    [each['allocations'] for each in found.candidates[host]],
                )
                self.assertEqual(by_nova.scores[host], found.scores[host])
            # It may not know yet what was deleted.
            offered = {*old.class_of_member(path).candidates}
            self.assertEqual(set(), offered - {*found.candidates}, self.told)
            for host in offered:
                free = new.problem.hosts[host].free
                for name, amount in old.problem.hosts[host].free.items():
                    self.assertLessEqual(amount, free[name], self.told)

    def compare_patiently(self):
        """Compare; again if a service has reported between two looks."""
        for _attempt in range(2):
            try:
                return self.compare()
            except self.failureException:
                pass
        self.compare()

    def test_looks_offer_what_nova_offers(self):
        changes = (
            *(self.allocate, self.allocate, self.empty, self.hold),
            *(self.delete, self.switch, self.move, self.reserve),
        )
        for seed in shares.sample_seeds(SEEDS):
            self.random = random.Random(seed)
            self.told = [seed]
            for _number in range(CHANGES):
                change = self.random.choice(changes)
                self.told.append(change.__name__)
                change()
                self.compare_patiently()
