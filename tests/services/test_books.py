# SPDX-License-Identifier: Apache-2.0
"""Does the Placement that explorations use answer as the real one does?"""

import hypothesis
from hypothesis import strategies as st
from oslo_utils import uuidutils

from nova_groupext.scheduler.placement import placement_client
from tests.protocol import books
from tests.services import life
from tests.services import placement
from tests.services import servers

PROJECT = 'project'
CONSUMERS = 3

_seats = st.one_of(
    st.none(),
    st.dictionaries(
        st.sampled_from((0, 1)), st.integers(1, 2), min_size=1, max_size=2
    ),
)
_changes = st.dictionaries(
    st.integers(0, CONSUMERS - 1),
    st.tuples(_seats, st.sampled_from((None, 1, 2))),
    min_size=1,
    max_size=CONSUMERS,
)


class TestBooks(life.LifeTestCase):
    SERVER = servers.SQLITE

    def setUp(self):
        super().setUp()
        self.providers = [self.life.make_provider(each) for each in (2, 1)]
        self.books = books.Books()
        self.both = self.life.admin, books.Session(lambda: self.books)
        self.books.inventories = {
            provider: self.life.admin.get(
                f'/resource_providers/{provider}/inventories'
            ).json()['inventories']
            for provider in self.providers
        }

    @hypothesis.settings(max_examples=25, deadline=None)
    @hypothesis.given(st.lists(_changes, max_size=5))
    def test_they_answer_alike(self, requests):
        # Nothing of the last example is left.
        self.consumers = [
            uuidutils.generate_uuid() for _each in range(CONSUMERS)
        ]
        for changes in requests:
            self.ask_both(self.body(changes))
        for consumer in self.consumers:
            answers = [
                each.delete(f'/allocations/{consumer}') for each in self.both
            ]
            self.assertEqual(*(each.status_code for each in answers))
        self.compare()

    def body(self, changes):
        return {
            self.consumers[number]: {
                'allocations': {
                    self.providers[at]: {'resources': {'VCPU': many}}
                    for at, many in (seats or {}).items()
                },
                'project_id': PROJECT,
                'user_id': 'user',
                'consumer_type': 'VRT_MEMBER',
                'consumer_generation': generation,
            }
            for number, (seats, generation) in changes.items()
            # Of what is not there nothing is emptied: see Ledger.exchange().
            if seats or generation
        }

    def ask_both(self, body):
        if not body:
            return
        before = [self.generations(each) for each in self.both]
        answers = [each.post('/allocations', json=body) for each in self.both]
        self.assertEqual(*(each.status_code for each in answers))
        if answers[0].status_code == 204:
            self.assertEqual(
                *(
                    {p for p in was if self.generations(each)[p] != was[p]}
                    for each, was in zip(self.both, before, strict=True)
                )
            )
        self.assertEqual(*map(placement_client._lost_a_race, answers))
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
            real, ours = (self.said(each, path) for each in self.both)
            self.assertEqual(real, ours)

    def said(self, session, path):
        """Return what is said that somebody of ours reads."""
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

    def test_filling_once_more_frees_what_has_no_record(self):
        self.consumers = [uuidutils.generate_uuid()]
        [consumer] = self.consumers
        fill = self.body({0: ({1: 1}, None)})
        self.ask_both(fill)
        self.lose_record(consumer)
        self.books.lose_records(fill)
        self.compare()
        full = [self.used(each) for each in self.both]

        self.ask_both(fill)
        self.ask_both(self.body({0: (None, 1)}))

        self.assertEqual([1, 1], full)
        self.assertEqual([0, 0], [self.used(each) for each in self.both])

    def used(self, session):
        path = f'/resource_providers/{self.providers[1]}/usages'
        return session.get(path).json()['usages']['VCPU']

    def test_a_provider_gives_what_is_reserved_to_nobody(self):
        [provider, _other] = self.providers
        path = f'/resource_providers/{provider}/inventories/VCPU'
        for each in self.both:
            inventory = each.get(path).json()
            each.put(path, json={**inventory, 'reserved': inventory['total']})
        consumer = uuidutils.generate_uuid()

        answers = [
            placement.claim(each, provider, consumer, VCPU=1)
            for each in self.both
        ]

        self.assertEqual([409, 409], [each.status_code for each in answers])
        self.assertEqual(
            *(
                each.get('/allocations/' + consumer).json()
                for each in self.both
            )
        )
