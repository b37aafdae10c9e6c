# SPDX-License-Identifier: Apache-2.0
"""Autoscaling groups: the group of their servers grows and shrinks."""

import threading

import fixtures

from tests.heat import base
from tests.heat import hot

APART = {'type': 'anti-affinity', 'scope': 'host'}


def scaled(minimum, maximum, definition, **more):
    return {
        'type': 'OS::Heat::AutoScalingGroup',
        'properties': {
            'min_size': minimum,
            'max_size': maximum,
            'resource': definition,
            **more,
        },
    }


def policy(adjustment):
    return {
        'type': 'OS::Heat::ScalingPolicy',
        'properties': {
            'adjustment_type': 'change_in_capacity',
            'auto_scaling_group_id': {'get_resource': 'workers'},
            'scaling_adjustment': adjustment,
            'cooldown': 0,
        },
    }


def resources(minimum=1, maximum=3, **more):
    return {
        'group': hot.group(groups={'workers': {'policies': [APART]}}),
        'workers': scaled(
            minimum, maximum, hot.server('workers/worker'), **more
        ),
        'more': policy(1),
        'fewer': policy(-1),
    }


class TestScaling(base.HeatTestCase):
    def scale(self, name, size):
        """Signal a scaling policy and wait until there are so many servers."""
        answer = self.orchestration().post(
            f'{self._url()}/resources/{name}/signal', json={}
        )
        self.assertEqual(200, answer.status_code, answer.text)
        self.eventually(
            lambda: [each.status for each in self.servers().values()],
            lambda found: found == ['ACTIVE'] * size,
        )
        # Until then Heat ignores other signals.
        self.eventually(self.is_scaling, lambda is_scaling: not is_scaling)

    def is_scaling(self):
        answer = self.orchestration().get(
            f'{self._url()}/resources/workers/metadata'
        )
        return answer.json()['metadata']['scaling_in_progress']

    def test_group_grows_and_shrinks_with_its_signals(self):
        status = self.create_stack(resources())
        self.assertEqual('CREATE_COMPLETE', status[0], status)
        self.assertEqual({'workers/worker-0': 'ACTIVE'}, self.statuses())

        self.scale('more', 2)
        self.scale('more', 3)

        self.assertEqual(3, len(self.statuses()))
        hosts = self.planned_hosts(self.the_group()['id'])
        self.assertEqual(3, len({*hosts.values()}))

        self.scale('fewer', 2)

    def test_desired_capacity_of_0_keeps_the_servers(self):
        """For Heat it is not given."""
        self.create_stack(resources(0, desired_capacity=2))

        status = self.update_stack(resources(0, desired_capacity=0))

        self.assertEqual('UPDATE_COMPLETE', status[0], status)
        self.assertEqual(['ACTIVE'] * 2, [*self.statuses().values()])
        self.assertEqual(1, self.the_group()['generation'])

    def test_group_grows_while_an_update_is_planned(self):
        self.create_stack(resources())
        uuid = self.the_group()['id']
        grown = []
        request = threading.Thread(
            target=lambda: grown.append(
                self.redeem(uuid, 'workers/worker', 'm1.tiny')
            )
        )

        def start(point):
            if point == 'before hold.post' and request.ident is None:
                request.start()

        with fixtures.MonkeyPatch('nova_groupext.faultpoints.handler', start):
            status = self.update_stack({**resources(), 'db': hot.server('db')})
        request.join()

        self.assertEqual('UPDATE_COMPLETE', status[0], status)
        self.assertEqual(['ACTIVE'], [each.status for each in grown])
        self.assertEqual(
            {'db', 'workers/worker-0', 'workers/worker-1'}, {*self.statuses()}
        )
        for each in grown:
            each.delete()
