# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/look/candidates.py``."""

import types

from oslotest import base

from nova_groupext.scheduler.look import candidates
from nova_groupext.scheduler.look import kept_reading
from nova_groupext.scheduler.look import snapshot


class FakeHosts:
    """A HostManager whose filters pass all hosts.

    :ivar refused: requests that a filter removes from its hosts
    """

    def __init__(self, hosts):
        self._hosts = hosts
        self.refused = []

    def separate(self):
        return self

    def all_hosts(self, _context, uuids):
        return {
            host_id: host
            for host_id, host in self._hosts.items()
            if host.uuid in uuids
        }

    def get_filtered_hosts(self, hosts, _spec):
        for host in hosts:
            host.allocation_candidates = [
                each
                for each in host.allocation_candidates
                if each not in self.refused
            ]
        return hosts

    def scores(self, states, _spec):
        return {each.uuid: 0.5 for each in states}, []

    def scores_within(self, states, _spec, _ranges):
        return {each.uuid: 2.0 for each in states}


class TestFindAgain(base.BaseTestCase):
    """Two hosts were found; the group's holds may have others to offer."""

    def setUp(self):
        super().setUp()
        hosts = {
            name: types.SimpleNamespace(uuid=f'uuid-{name}')
            for name in ('cmp-1', 'cmp-2', 'cmp-3')
        }
        self.hosts = FakeHosts(hosts)
        self.reading = kept_reading.Reading(hosts, self.hosts, {}, 0.0)
        self.found = kept_reading.FoundHosts(
            {
                'cmp-1': [request('uuid-cmp-1', 'child-1')],
                'cmp-2': [request('uuid-cmp-2')],
            },
            {'cmp-1': 1.0, 'cmp-2': 0.0},
            *([(0, 1)], None),
        )
        self.member_class = snapshot.MemberClass('class-0', None)

    def find(self, *own, excluded=()):
        """Return {host id: requests}.

        :param own: (host, request) pairs of the own capacity
        """
        own_capacity = types.SimpleNamespace(
            hosts={host for host, _request in own},
            candidates=lambda _resources, _count: [
                ({host}, each) for host, each in own
            ],
        )
        search = candidates.CandidateSearch(
            *(None, None, self.reading, own_capacity, excluded, None)
        )
        search.find_again(self.member_class, None, self.found)
        return self.member_class.candidates

    def test_hosts_are_those_that_were_found(self):
        self.assertEqual(self.found.candidates, self.find())
        self.assertEqual(self.found.scores, self.member_class.scores)

    def test_excluded_host_is_left_out(self):
        found = self.find(excluded={('class-0', 'cmp-1')})

        self.assertEqual({'cmp-2'}, {*found})

    def test_own_candidates_of_a_host_come_after_the_others(self):
        other, own = (request('uuid-cmp-1', f'child-{i}') for i in (1, 2))

        found = self.find(('uuid-cmp-1', own), ('uuid-cmp-1', other))

        self.assertEqual([other, own], found['cmp-1'])

    def test_request_that_a_filter_refuses_is_left_out(self):
        other, own = (request('uuid-cmp-1', f'child-{i}') for i in (1, 2))
        self.hosts.refused = [own]

        found = self.find(('uuid-cmp-1', own), ('uuid-cmp-3', own))

        self.assertEqual({'cmp-1': [other], 'cmp-2': found['cmp-2']}, found)

    def test_states_of_hosts_that_other_looks_use_stay_as_they_are(self):
        self.find(('uuid-cmp-1', request('uuid-cmp-1', 'child-2')))

        [state, *_others] = self.reading.hosts.values()
        self.assertFalse(hasattr(state, 'allocation_candidates'))

    def test_host_with_own_capacity_alone_is_weighed_beside_the_others(self):
        own = request('uuid-cmp-3')

        found = self.find(('uuid-cmp-3', own))

        self.assertEqual([own], found['cmp-3'])
        self.assertEqual(
            {**self.found.scores, 'cmp-3': 2.0}, self.member_class.scores
        )

    def test_all_are_weighed_when_there_were_too_few_to_compare(self):
        self.found = kept_reading.FoundHosts({}, {}, [], None)

        self.find(('uuid-cmp-3', request('uuid-cmp-3')))

        self.assertEqual({'cmp-3': 0.5}, self.member_class.scores)


def request(*providers):
    return {
        'allocations': {
            each: {'resources': {'VCPU': 1}} for each in providers
        },
        'mappings': {},
    }
