# SPDX-License-Identifier: Apache-2.0
"""Fair sharing of planning slots between projects, and their limits."""

import dataclasses
import threading

import fixtures

from nova_groupext.scheduler.decide import decide
from tests.functional import base
from tests.functional import changing_cloud

ONE = {'members': {'a': base.member()}}
SLOW = 'slow'


class SlotCase(changing_cloud.ChangingCloudTestCase):
    """Groups whose decision waits, by their name, for an event of the test."""

    PARTS = dataclasses.replace(
        changing_cloud.ChangingCloudTestCase.PARTS,
        config=f'{changing_cloud.ChangingCloudTestCase.PARTS.config}\n'
        '[vrt]\nmax_concurrent_plans = 2\n',
    )

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.Timeout(120, gentle=True))
        self.deciding = threading.Semaphore(0)
        self.go_on = threading.Event()
        self.addCleanup(self.go_on.set)
        self.waits_for = {SLOW: self.go_on}
        self.order = []
        ask = decide._ask

        def ask_slowly(work, *args):
            self.order.append(work.group.name)
            if work.group.name in self.waits_for:
                self.deciding.release()
                self.waits_for[work.group.name].wait()
            return ask(work, *args)

        self.patch(decide, '_ask', ask_slowly)

    def ask(self, user='demo', name=SLOW, **group):
        """POST a group; returns its id."""
        response = self.post(user, topology=ONE, name=name, **group)
        self.assertEqual(202, response.status_code, response.text)
        return response.json()['vrt_group']['id']

    def wait_decided(self, uuid, user='demo'):
        return self.eventually(
            self.group, lambda now: now['status'] != 'PLANNING', uuid, user
        )

    def status(self, uuid, user='demo'):
        return self.group(uuid, user)['status']


class TestSlots(SlotCase):
    def test_project_with_slow_groups_does_not_delay_another(self):
        first, second = self.ask(hold=False), self.ask(hold=False)
        self.deciding.acquire()

        other = self.ask('other', 'quick')

        self.assertEqual('HELD', self.wait_decided(other, 'other')['status'])
        self.assertEqual(
            ['PLANNING'] * 2, [self.status(first), self.status(second)]
        )
        self.go_on.set()
        for each in (first, second):
            self.assertEqual('PLANNED', self.wait_decided(each)['status'])

    def busy(self, *slow):
        """Occupy both slots with groups of two projects, and queue more.

        :param slow: names of the second project's groups whose decision waits
        :returns: the Event that each of them waits for
        """
        for name in slow:
            self.waits_for[name] = threading.Event()
            self.addCleanup(self.waits_for[name].set)
        self.ask()
        self.ask('other', 'b1')
        for _each in range(2):
            self.deciding.acquire()
        self.ask('other', 'b2')
        self.ask('other', 'b3')
        return [self.waits_for[name] for name in slow]

    def test_project_without_a_turn_precedes_one_that_had_a_turn(self):
        [first_turn] = self.busy('b1')
        last = self.ask('admin', 'c1')

        first_turn.set()
        self.wait_decided(last, 'admin')

        self.assertEqual('c1', self.order[2])

    def test_next_turn_of_a_project_follows_projects_that_came_later(self):
        first_turn, second_turn = self.busy('b1', 'b2')
        first_turn.set()
        self.deciding.acquire()
        last = self.ask('admin', 'c1')

        second_turn.set()
        self.wait_decided(last, 'admin')

        self.assertEqual(['b2', 'c1'], self.order[2:4])

    def test_proposal_waits_for_a_slot(self):
        self.hold(2)
        self.change_row(self.uuid, drift=[{'at': '', 'policy': {}}])
        self.ask(hold=False)
        self.deciding.acquire()

        asked = self.act(self.uuid, 'propose')

        self.assertEqual(202, asked.status_code, asked.text)
        self.assertEqual('planning', self.proposed()['status'])
        self.go_on.set()
        found = self.eventually(
            self.proposed, lambda now: now['status'] != 'planning'
        )
        self.assertEqual(('placed', []), (found['status'], found['moves']))

    def proposed(self):
        answer = self.api().get(f'{base.GROUPS}/{self.uuid}/proposal')
        return answer.json()['proposal']

    def test_replacement_for_a_server_needs_no_slot(self):
        self.hold(3)
        self.ask(hold=False)
        self.ask('other', hold=False)
        self.deciding.acquire()
        self.deciding.acquire()

        self.disable(self.before['a-0'])

        self.assert_redeemed_elsewhere()


class TestLimit(SlotCase):
    def setUp(self):
        super().setUp()
        self.set_option('max_planning_per_project', 1)

    def refused(self, response):
        self.assertEqual(409, response.status_code, response.text)
        self.assertIn('the limit is 1', response.text)

    def test_plans_beyond_the_limit_of_a_project_are_refused(self):
        self.hold(1)
        whatif = self.describe(ONE, hold=False)
        self.change_row(self.uuid, drift=[{'at': '', 'policy': {}}])
        self.ask(hold=False)

        group = self.group(self.uuid)
        described = {name: group[name] for name in ('generation', 'topology')}
        for response in (
            self.post(topology=ONE),
            self.post(topology=ONE, hold=False),
            self.act(whatif['id'], 'hold'),
            self.act(self.uuid, 'replan'),
            self.act(self.uuid, 'propose'),
            self.api().put(
                f'{base.GROUPS}/{self.uuid}', json={'vrt_group': described}
            ),
        ):
            self.refused(response)

        self.assertEqual('PLANNED', self.status(whatif['id']))
        self.wait_decided(self.ask('other', 'quick'), 'other')
        self.go_on.set()
        self.eventually(
            self.act,
            lambda answer: answer.status_code == 202,
            *(self.uuid, 'propose'),
        )

    def test_waiting_proposal_counts_towards_the_limit(self):
        self.hold(1)
        self.change_row(self.uuid, drift=[{'at': '', 'policy': {}}])
        self.ask(hold=False)
        self.deciding.acquire()
        self.set_option('max_planning_per_project', 2)
        self.assertEqual(202, self.act(self.uuid, 'propose').status_code)

        response = self.post(topology=ONE)

        self.assertEqual(409, response.status_code, response.text)
        self.assertIn('has 2 VRT groups, revisions', response.text)
