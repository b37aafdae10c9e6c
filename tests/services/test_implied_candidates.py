# SPDX-License-Identifier: Apache-2.0
"""Equal candidates of Placement and of the queries about its providers."""

import random
import types

from oslo_utils import uuidutils
from oslotest import base

from nova_groupext import exception
from nova_groupext.scheduler.placement import implied_candidates
from nova_groupext.scheduler.placement import queries
from nova_groupext.scheduler.placement import tree_queries
from tests.services import provider_trees

AGGREGATES = [uuidutils.generate_uuid() for _each in range(2)]
TREES = 6
REQUESTS = 30


class TestImpliedCandidates(provider_trees.ProviderTreesTestCase):
    """Random trees, some with a sharing provider, and random requests."""

    def setUp(self):
        super().setUp()
        self.random = random.Random(4)
        self.cloud = self.context, self.client, lambda: None

    def test_implied_candidates_are_those_of_placement(self):
        roots = [self.make_tree() for _each in range(TREES)]
        sizes = set()
        for _each in range(REQUESTS):
            request = self.make_request()
            expected = self.candidates(request)

            found = self.implied(
                roots,
                request,
                implied_candidates.ProviderQueries(*self.cloud),
            )

            self.assertEqual(
                {implied_candidates.key(each) for each in expected}, found
            )
            sizes.add(len(found))
        self.assertGreater(len(sizes), 3)

    def test_candidates_of_few_hosts_are_those_of_placement(self):
        """Half of the trees, without any that share."""
        roots = [self.make_tree(0) for _each in range(TREES)]
        some = set(roots[: TREES // 2])
        sizes = set()
        for _each in range(REQUESTS):
            request = self.make_request()
            expected = {
                implied_candidates.key(each)
                for each in self.candidates(request)
            }

            found = self.implied(
                some,
                request,
                tree_queries.TreeQueries.of_hosts(*self.cloud, some),
            )

            in_trees = self.client.roots(self.context)
            self.assertEqual(
                {
                    candidate
                    for candidate in expected
                    if {in_trees[each] for each, _name in candidate} <= some
                },
                found,
            )
            sizes.add(len(found))
        self.assertGreater(len(sizes), 2)

    def implied(self, roots, request, provider_queries):
        implied = implied_candidates.ImpliedCandidates(
            provider_queries, queries.parse_candidate_query(request)
        )
        return {each for root in roots for each in implied.of_host(root)}

    def make_tree(self, sharing=0.3):
        """Make a root provider with up to two children.

        :param sharing: probability with which it is shared
        :returns: its uuid
        """
        is_shared = self.random.random() < sharing
        shares = [provider_trees.SHARES] if is_shared else []
        root = self.make_random_provider(shares)
        for _each in range(self.random.randrange(3)):
            self.make_random_provider([], root)
        return root

    def make_random_provider(self, traits, parent=None):
        amounts = {
            name: self.random.randint(1, 2)
            for name in self.choose(provider_trees.CLASSES, 0.7)
        }
        provider = self.make_provider(
            amounts,
            parent,
            [*traits, *self.choose(provider_trees.TRAITS, 0.5)],
            self.choose(AGGREGATES, 0.5),
        )
        for name in self.choose(amounts, 0.2):
            self.fill(provider, name)
        return provider

    def make_request(self):
        traits, others = self.split(provider_trees.TRAITS)
        inside, outside = self.split(AGGREGATES)
        root_traits, root_others = self.split(provider_trees.TRAITS)
        return provider_trees.make_request(
            {
                name: self.random.randint(1, 2)
                for name in self.random.sample(
                    provider_trees.CLASSES, self.random.randint(1, 2)
                )
            },
            root_required=root_traits,
            root_forbidden=root_others,
            required_traits=set(traits),
            forbidden_traits=set(others),
            aggregates=[[each] for each in inside],
            forbidden_aggregates=set(outside),
        )

    def choose(self, names, share):
        return [name for name in names if self.random.random() < share]

    def split(self, names):
        """Return two lists of some names, and no name in both."""
        chosen = self.choose(names, 0.25)
        others = [name for name in names if name not in chosen]
        return chosen, self.choose(others, 0.25)


class TestManyProviders(base.BaseTestCase):
    """A host with a thousand providers of each of two resource classes."""

    def roots(self, _context, filters):
        """Return {provider: root}, as PlacementClient does."""
        [(name, value)] = filters
        if name != 'resources':
            return {}
        return {f'{value}-{number}': 'host' for number in range(1000)}

    def test_search_for_candidates_ends_at_the_deadline(self):
        checks = []

        def check_deadline():
            checks.append(1)
            if len(checks) == 100:
                raise exception.OutOfTime(seconds=1)

        required = [provider_trees.FAST]
        implied = implied_candidates.ImpliedCandidates(
            implied_candidates.ProviderQueries(
                None, types.SimpleNamespace(roots=self.roots), check_deadline
            ),
            queries.CandidateQuery(
                amounts=dict.fromkeys(provider_trees.CLASSES, 1),
                required=required,
                forbidden=[],
                root_required=[],
                member_of=[],
                not_member_of=[],
            ),
        )

        # No candidate has the required trait.
        candidates = implied.of_host('host')

        self.assertRaises(exception.OutOfTime, list, candidates)
        self.assertEqual(100, len(checks))
