# SPDX-License-Identifier: Apache-2.0
"""Allocation candidates that Placement has, but did not return."""

import types

from oslo_utils import uuidutils

from nova_groupext.scheduler.current import current_holds
from nova_groupext.scheduler.current import own_capacity
from nova_groupext.scheduler.look import reading_gaps
from nova_groupext.scheduler.placement import implied_candidates
from tests.services import provider_trees

A, B = provider_trees.CLASSES


class TestReadingGaps(provider_trees.ProviderTreesTestCase):
    def setUp(self):
        super().setUp()
        self.request = provider_trees.make_request({A: 1, B: 1})

    def gaps(
        self, hosts, returned, request=None, current=current_holds.NO_HOLDS
    ):
        """Return the gaps of a reading with some allocation requests."""
        own = own_capacity.OwnCapacity(
            *(self.context, self.client, current), lambda: None
        )
        gaps = reading_gaps.ReadingGaps(
            *(self.context, self.client, hosts, own), lambda: None
        )
        gaps.record_candidates(
            request or self.request,
            {implied_candidates.key(each) for each in returned},
        )
        return gaps.find()

    def assert_all_are_needed(self, hosts, count):
        """Expect a gap whichever of the candidates was not returned."""
        candidates = self.candidates(self.request)
        self.assertEqual(count, len(candidates))
        self.assertEqual([], self.gaps(hosts, candidates))
        for missing in candidates:
            returned = [each for each in candidates if each is not missing]
            self.assertNotEqual([], self.gaps(hosts, returned))

    def test_candidate_with_a_sharing_provider_was_not_returned(self):
        aggregate = uuidutils.generate_uuid()
        self.make_provider({B: 2}, None, [provider_trees.SHARES], [aggregate])
        hosts = [
            self.make_provider({A: 2, B: 2}, None, [], [aggregate]),
            self.make_provider({A: 2}, None, [], [aggregate]),
        ]
        self.make_provider({A: 2})

        self.assert_all_are_needed(hosts, 3)

    def test_second_candidate_of_a_host_was_not_returned(self):
        host = self.make_provider({A: 2})
        for _each in range(2):
            self.make_provider({B: 1}, host)

        self.assert_all_are_needed([host], 2)

    def test_candidate_beside_own_holds_has_become_free_later(self):
        host = self.make_provider({A: 1})
        self.fill(host, A)
        self.make_provider({B: 1}, host)
        holds = provider_trees.make_holds(host, A)

        gaps = self.gaps([host], [], current=holds)

        self.assertEqual([reading_gaps.FREED_LATER], gaps)

    def test_number_of_requests_does_not_depend_on_the_hosts(self):
        counts = [self.count_requests(hosts) for hosts in (2, 10)]

        self.assertEqual(counts[0], counts[1])
        # One for each resource class, and one for sharing providers.
        self.assertEqual(3, counts[0])

    def count_requests(self, number):
        """Return the number of requests that full nested hosts take."""
        hosts = [self.make_provider({A: 1}) for _each in range(number)]
        for host in hosts:
            self.make_provider({B: 1}, host)
        request = provider_trees.make_request({A: 1, B: 2})
        get, sent = self.admin.get, []

        def count(url, **kwargs):
            sent.append(url)
            return get(url, **kwargs)

        self.admin.get = count
        self.assertEqual([], self.gaps(hosts, [], request))
        self.admin.get = get
        return len(sent)

    def test_request_with_numbered_groups_cannot_be_checked(self):
        request = types.SimpleNamespace(
            to_querystring=lambda: f'resources1={A}:1'
        )

        self.assertEqual([reading_gaps.NUMBERED], self.gaps([], [], request))
