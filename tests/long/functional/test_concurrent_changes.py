# SPDX-License-Identifier: Apache-2.0
"""Concurrent changes of a group: one is accepted and nothing leaks."""

import functools
import itertools

from tests.functional import base
from tests.functional import invariants
from tests.functional import moves
from tests.services import concurrency

GROUPS = 2
ROUNDS = 2


def definition(count, *others):
    members = {name: base.member() for name in others}
    return {'members': {'a': base.member(count=count), **members}}


class TestConcurrentChanges(invariants.Invariants, base.StepTestCase):
    HOSTS = moves.HOSTS
    MAX_SERVERS = 100

    def setUp(self):
        super().setUp()
        self.uuids = [
            self.hold_group(definition(1, 'c'))['id']
            for _each in range(GROUPS)
        ]

    def call(self, uuid, method, path='', **body):
        """Return a function that requests a change and returns its status."""
        url = f'{base.GROUPS}/{uuid}{path}'
        ask = functools.partial(self.api().request, url, method)
        return lambda: ask(json=body or None).status_code

    def put(self, uuid, topology):
        generation = self.group(uuid)['generation']
        body = {'generation': generation, 'topology': topology}
        return self.call(uuid, 'PUT', vrt_group=body)

    def call_at_once(self, calls_of):
        """Make all calls of all groups at once and wait for the decisions.

        :param calls_of: {group's uuid: its calls}
        :returns: {group's uuid: (statuses of the calls, the group then)}
        """
        together = itertools.chain.from_iterable(calls_of.values())
        answers = iter(concurrency.call_concurrently([*together]))
        statuses = {
            uuid: [next(answers) for _each in calls]
            for uuid, calls in calls_of.items()
        }
        return {
            uuid: (statuses[uuid], self.wait_decided(uuid))
            for uuid in calls_of
        }

    def wait_decided(self, uuid):
        self.eventually(self.group, lambda now: now['revision'] is None, uuid)
        self.uuid = uuid
        self.eventually(self.violated_invariants, lambda broken: not broken)
        statuses = {each['status'] for each in self.current['members']}
        self.assertEqual({'HELD'}, statuses)
        return self.current

    def test_concurrent_updates_of_one_generation_conflict(self):
        sent = [definition(count, 'c') for count in range(2, 7)]
        for _round in range(ROUNDS):
            after = self.call_at_once(
                {
                    uuid: [self.put(uuid, each) for each in sent]
                    for uuid in self.uuids
                }
            )

            for statuses, group in after.values():
                self.assertEqual([202, 409, 409, 409, 409], sorted(statuses))
                [winner] = [
                    each
                    for each, status in zip(sent, statuses, strict=True)
                    if status == 202
                ]
                self.assertEqual(winner, group['topology'])

    def test_concurrent_changes_take_effect_only_if_accepted(self):
        replan = {'replan': None}
        sent = [definition(count, 'c') for count in (2, 3, 4)]
        after = self.call_at_once(
            {
                uuid: [
                    *(self.put(uuid, each) for each in sent),
                    self.call(
                        uuid,
                        'POST',
                        '/members',
                        member={'path': 'b', **base.member()},
                    ),
                    self.call(uuid, 'DELETE', '/members/c'),
                    self.call(uuid, 'POST', '/action', **replan),
                    self.call(uuid, 'POST', '/action', **replan),
                ]
                for uuid in self.uuids
            }
        )

        for statuses, group in after.values():
            self.assertEqual({202, 409}, {*statuses, 409})
            *puts, post, delete, _replan, _again = statuses
            members = group['topology']['members']
            counts = [
                each['members']['a'].get('count')
                for each, status in zip(sent, puts, strict=True)
                if status == 202
            ]
            self.assertEqual(counts or [1], [members['a']['count']])
            self.assertEqual(post == 202, 'b' in members)
            self.assertEqual(delete == 202, 'c' not in members)
