# SPDX-License-Identifier: Apache-2.0
"""Numbers of statements and requests, in clouds of 50 and of 100 hosts.

They do not depend on the number of hosts, and of members only by chunks.
"""

import math
import multiprocessing

import fixtures
from oslotest import base

from nova_groupext.scheduler.protocol import release_holds
from tests.benchmarks.scheduler import cloud
from tests.benchmarks.scheduler import counting
from tests.benchmarks.scheduler import groups
from tests.benchmarks.scheduler import measures
from tests.benchmarks.scheduler import shapes
from tests.services import servers

HOSTS = 50, 100
# Numbers of members of two groups; a chunk of each is not full.
FEW, MANY = 30, 70
POLICIES = ({**groups.APART, 'max_per_domain': MANY},)

EXCLUSIVE = {'type': 'exclusive', 'scope': 'rack'}

POST = 'POST /allocations'
GETS_OF_A_PROVIDER = {
    'GET /resource_providers/<uuid>/allocations': 1,
    'GET /resource_providers/<uuid>/inventories': 1,
}


def count(hosts):
    """Return {operation: counting.Counts} of a cloud of two cells."""
    with cloud.PopulatedCloud(shapes.SHAPES['mixed'], hosts) as populated:
        bench = measures.Bench(populated)
        bench.create()
        found = {'create': bench.create(), 'beside': bench.create_beside()}
        _counts, held = bench.hold(FEW, policies=POLICIES)
        found['few'], few = bench.hold(FEW, policies=POLICIES)
        found['many'], many = bench.hold(MANY, policies=POLICIES)
        found['look'], _seen = bench.look(held)
        exclusive = groups.describe(bench.context, FEW, [EXCLUSIVE])
        found['look exclusive'], _seen = bench.look(exclusive)
        exclusive.mark_deleted(bench.context)
        with fixtures.MonkeyPatch(
            'nova_groupext.scheduler.look.kept_reading.MIN_HOSTS', 1
        ):
            bench.look(held)
            found['look again'], _seen = bench.look(held, may_be_old=True)
        bench.reap()
        found['reap'] = bench.reap()
        paths = [member.path for member in held.members]
        bench.redeem(held, paths[0])
        found['redeem'] = bench.redeem(held, paths[1])
        found['release few'] = bench.release(few)
        found['release many'] = bench.release(many)
        # At the end: a planner would plan these beside others.
        for name, members in (('describe few', FEW), ('describe many', MANY)):
            with counting.counting() as found[name]:
                groups.describe(bench.context, members)
        return found


class TestCounts(base.BaseTestCase):
    """Two cells, three classes of members, a strict policy of racks."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.of = {}

    def setUp(self):
        super().setUp()
        servers.MARIADB.require(self)
        if not self.of:
            # Nova's databases are configured once in a process.
            with multiprocessing.get_context('spawn').Pool(len(HOSTS)) as pool:
                self.of.update(zip(HOSTS, pool.map(count, HOSTS), strict=True))
        self.small, self.large = (self.of[hosts] for hosts in HOSTS)

    def assert_equal_numbers(self, first, second):
        self.assertEqual(
            (first.ours.total(), first.nova.total(), first.requests),
            (second.ours.total(), second.nova.total(), second.requests),
        )

    def test_look_is_a_query_for_each_class_and_30_statements(self):
        look = self.large['look']

        self.assert_equal_numbers(self.small['look'], look)
        self.assertEqual(
            {
                'GET /allocation_candidates': len(groups.CLASSES),
                'GET /resource_providers': 1,
            },
            look.requests,
        )
        self.assertLessEqual(look.ours.total() + look.nova.total(), 30)

    def test_look_for_an_exclusive_group_asks_for_no_single_host(self):
        look = self.large['look exclusive']

        self.assert_equal_numbers(self.small['look exclusive'], look)
        self.assertEqual(self.large['look'].requests, look.requests)

    def test_look_at_an_unchanged_cloud_is_one_request(self):
        look = self.large['look again']

        self.assert_equal_numbers(self.small['look again'], look)
        self.assertEqual({'GET /resource_providers': 1}, look.requests)
        # Mostly those of Nova's request filters, for each class and cell.
        self.assertLessEqual(look.ours.total() + look.nova.total(), 17)

    def test_redeem_is_one_post_and_the_reads_that_verify(self):
        redeem = self.large['redeem']

        self.assert_equal_numbers(self.small['redeem'], redeem)
        self.assertEqual({POST: 1, **GETS_OF_A_PROVIDER}, redeem.requests)
        self.assertLessEqual(redeem.ours.total(), 13)
        self.assertLessEqual(redeem.nova.total(), 5)

    def test_ordinary_server_costs_what_it_costs_without_us(self):
        for counts in (self.small, self.large):
            self.assert_equal_numbers(counts['create'], counts['beside'])

    def test_idle_reaper_is_two_requests_and_40_statements(self):
        reap = self.large['reap']

        self.assert_equal_numbers(self.small['reap'], reap)
        self.assertEqual(
            {'GET /resource_providers': 1, 'GET /usages': 1}, reap.requests
        )
        self.assertLessEqual(reap.ours.total() + reap.nova.total(), 40)

    def test_members_are_stored_and_read_together(self):
        few, many = self.large['describe few'], self.large['describe many']

        self.assertEqual(few.ours.total(), many.ours.total())

    def test_more_members_cost_a_post_and_a_statement_a_chunk(self):
        few, many = self.large['few'], self.large['many']
        chunks = math.ceil(MANY / 5) - math.ceil(FEW / 5)

        self.assertEqual(chunks, (many.requests - few.requests)[POST])
        self.assertEqual(chunks, many.ours.total() - few.ours.total())
        self.assertEqual(few.nova.total(), many.nova.total())

    def test_release_is_a_post_and_two_statements_a_chunk(self):
        few, many = self.large['release few'], self.large['release many']
        size = release_holds.EMPTIED_AT_ONCE
        chunks = math.ceil(MANY / size) - math.ceil(FEW / size)

        self.assertEqual({POST: math.ceil(MANY / size)}, many.requests)
        self.assertEqual(2 * chunks, many.ours.total() - few.ours.total())
        self.assertEqual(0, many.nova.total())
