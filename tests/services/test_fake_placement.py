# SPDX-License-Identifier: Apache-2.0
"""Equal answers of the fake Placement of explorations and the real one."""

import hypothesis
from hypothesis import strategies as st
from oslo_utils import uuidutils

from nova_groupext.scheduler.placement import http
from tests.protocol import fake_placement
from tests.services import deployment
from tests.services import placement
from tests.services import servers

PROJECT = 'project'
CONSUMERS = 3

_allocations = st.one_of(
    st.none(),
    st.dictionaries(
        st.sampled_from((0, 1)), st.integers(1, 2), min_size=1, max_size=2
    ),
)
_changes = st.dictionaries(
    st.integers(0, CONSUMERS - 1),
    st.tuples(_allocations, st.sampled_from((None, 1, 2))),
    min_size=1,
    max_size=CONSUMERS,
)


class TestFakePlacement(deployment.DeploymentTestCase):
    SERVER = servers.SQLITE

    def setUp(self):
        super().setUp()
        self.providers = [
            self.deployment.make_provider(each) for each in (2, 1)
        ]
        self.books = fake_placement.FakePlacement()
        self.both_clients = (
            self.deployment.admin,
            fake_placement.Session(lambda: self.books),
        )
        self.books.inventories = {
            provider: self.deployment.admin.get(
                f'/resource_providers/{provider}/inventories'
            ).json()['inventories']
            for provider in self.providers
        }

    @hypothesis.settings(max_examples=25, deadline=None)
    @hypothesis.given(st.lists(_changes, max_size=5))
    def test_fake_placement_answers_like_the_real_one(self, requests):
        # The previous example has removed its consumers.
        self.consumers = [
            uuidutils.generate_uuid() for _each in range(CONSUMERS)
        ]
        for changes in requests:
            self.post_to_both(self.body(changes))
        for consumer in self.consumers:
            answers = [
                each.delete(f'/allocations/{consumer}')
                for each in self.both_clients
            ]
            self.assertEqual(*(each.status_code for each in answers))
        self.compare()

    def test_missing_provider_is_answered_like_that(self):
        missing = uuidutils.generate_uuid()
        for part in ('allocations', 'usages', 'inventories'):
            path = f'/resource_providers/{missing}/{part}'
            answers = [each.get(path) for each in self.both_clients]

            self.assertEqual(
                [True, True], [http.is_missing(e, missing) for e in answers]
            )

    def body(self, changes):
        return {
            self.consumers[number]: {
                'allocations': {
                    self.providers[at]: {'resources': {'VCPU': many}}
                    for at, many in (allocations or {}).items()
                },
                'project_id': PROJECT,
                'user_id': 'user',
                'consumer_type': 'VRT_MEMBER',
                'consumer_generation': generation,
            }
            for number, (allocations, generation) in changes.items()
            # PlacementClient.replace() empties no missing consumer.
            if allocations or generation
        }

    def post_to_both(self, body):
        if not body:
            return
        before = [self.generations(each) for each in self.both_clients]
        answers = [
            each.post('/allocations', json=body) for each in self.both_clients
        ]
        self.assertEqual(*(each.status_code for each in answers))
        if answers[0].status_code == 204:
            self.assertEqual(
                *(
                    {p for p in old if self.generations(each)[p] != old[p]}
                    for each, old in zip(
                        self.both_clients, before, strict=True
                    )
                )
            )
        self.assertEqual(*map(http.is_provider_conflict, answers))
        self.compare()

    def generations(self, session):
        found = session.get('/resource_providers').json()
        return {
            each['uuid']: each['generation']
            for each in found['resource_providers']
            if each['uuid'] in self.providers
        }

    def compare(self):
        paths = [
            *(f'/allocations/{each}' for each in self.consumers),
            *(
                f'/resource_providers/{each}/{what}'
                for each in self.providers
                for what in ('allocations', 'usages', 'inventories')
            ),
            f'/usages?project_id={PROJECT}',
        ]
        for path in paths:
            real, fake = (
                self.get_json(each, path) for each in self.both_clients
            )
            self.assertEqual(real, fake)

    def get_json(self, session, path):
        """Return the part of an answer that the product reads."""
        said = session.get(path).json()
        if path.startswith('/allocations/'):
            for each in said['allocations'].values():
                del each['generation']
        elif path.endswith('/allocations'):
            return {
                consumer: each['resources']
                for consumer, each in said['allocations'].items()
            }
        elif path.endswith('/usages'):
            return said['usages']
        elif path.endswith('/inventories'):
            return said['inventories']
        return said

    def test_second_fill_frees_usage_without_a_consumer_record(self):
        self.consumers = [uuidutils.generate_uuid()]
        [consumer] = self.consumers
        fill = self.body({0: ({1: 1}, None)})
        self.post_to_both(fill)
        self.lose_record(consumer)
        self.books.lose_records(fill)
        self.compare()
        full = [self.used(each) for each in self.both_clients]

        self.post_to_both(fill)
        self.post_to_both(self.body({0: (None, 1)}))

        self.assertEqual([1, 1], full)
        self.assertEqual(
            [0, 0], [self.used(each) for each in self.both_clients]
        )

    def used(self, session):
        path = f'/resource_providers/{self.providers[1]}/usages'
        return session.get(path).json()['usages']['VCPU']

    def test_claim_of_reserved_capacity_is_refused(self):
        [provider, _other] = self.providers
        path = f'/resource_providers/{provider}/inventories/VCPU'
        for each in self.both_clients:
            inventory = each.get(path).json()
            each.put(path, json={**inventory, 'reserved': inventory['total']})
        consumer = uuidutils.generate_uuid()

        answers = [
            placement.claim(each, provider, consumer, VCPU=1)
            for each in self.both_clients
        ]

        self.assertEqual([409, 409], [each.status_code for each in answers])
        self.assertEqual(
            *(
                each.get('/allocations/' + consumer).json()
                for each in self.both_clients
            )
        )
