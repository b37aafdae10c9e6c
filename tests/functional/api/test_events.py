# SPDX-License-Identifier: Apache-2.0
"""Events of a group: its requests, their senders and their outcomes."""

from tests.functional import base


class TestEvents(base.GroupTestCase):
    def told(self, uuid):
        events = self.group(uuid)['events']
        return [each['event'] for each in reversed(events)]

    def test_events_name_requests_their_users_and_their_outcomes(self):
        response = self.post(topology={'members': {'a': base.member()}})
        made = response.json()['vrt_group']
        held = self.eventually(
            self.group, lambda now: now['status'] == 'HELD', made['id']
        )
        self.wait_for_lease_end(made['id'])
        self.act(made['id'], 'extend')

        self.assertEqual(['create', 'held', 'extend'], self.told(made['id']))
        outcome, request = held['events']
        self.assertEqual(
            response.headers['x-compute-request-id'], request['request_id']
        )
        self.assertEqual(held['user_id'], request['user_id'])
        self.assertEqual(
            (None, None), (outcome['request_id'], outcome['user_id'])
        )

    def test_refused_revision_is_an_event(self):
        uuid = self.hold_group({'members': {'a': base.member()}})['id']
        self.api().put(
            f'{base.GROUPS}/{uuid}',
            json={
                'vrt_group': {
                    'generation': self.group(uuid)['generation'],
                    'topology': {'members': {'a': base.member(count=900)}},
                }
            },
        )
        self.eventually(
            self.group,
            lambda now: now['revision']['status'] == 'REFUSED',
            uuid,
        )

        self.eventually(
            self.told,
            lambda told: told[-2:] == ['revise', 'revision_refused'],
            uuid,
        )
