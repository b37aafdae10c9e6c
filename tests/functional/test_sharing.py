# SPDX-License-Identifier: Apache-2.0
"""Do planners have time for everybody, whoever asks for much?"""

import dataclasses
import threading

import fixtures

from nova_groupext.scheduler.decide import planning
from tests.functional import base
from tests.functional import world

ONE = {'members': {'a': base.member()}}
SLOW = 'slow'


class SharingCase(world.WorldCase):
    """Groups of some names are decided when the test lets them."""

    PARTS = dataclasses.replace(
        world.WorldCase.PARTS,
        config=f'{world.WorldCase.PARTS.config}\n'
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
        solve = planning.Planning._solve

        def solve_slowly(step, *args):
            self.order.append(step._group.name)
            if step._group.name in self.waits_for:
                self.deciding.release()
                self.waits_for[step._group.name].wait()
            return solve(step, *args)

        self.patch(planning.Planning, '_solve', solve_slowly)

    def ask(self, user='demo', name=SLOW, **group):
        """POST a group; returns its id."""
        response = self.post(user, topology=ONE, name=name, **group)
        self.assertEqual(202, response.status_code, response.text)
        return response.json()['vrt_group']['id']

    def decided(self, uuid, user='demo'):
        return self.eventually(
            self.group, lambda now: now['status'] != 'PLANNING', uuid, user
        )

    def status(self, uuid, user='demo'):
        return self.group(uuid, user)['status']


class TestSlots(SharingCase):
    def test_one_project_does_not_keep_another_waiting(self):
        first, second = self.ask(hold=False), self.ask(hold=False)
        self.deciding.acquire()

        other = self.ask('other', 'quick')

        self.assertEqual('HELD', self.decided(other, 'other')['status'])
        self.assertEqual(
            ['PLANNING'] * 2, [self.status(first), self.status(second)]
        )
        self.go_on.set()
        for each in (first, second):
            self.assertEqual('PLANNED', self.decided(each)['status'])

    def busy(self, *slow):
        """Let two projects have both slots, and groups that wait.

        :param slow: groups of the second one that are decided when the test
            lets them
        :returns: what lets them, each an Event
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

    def test_a_project_that_had_no_turn_comes_before_one_that_had(self):
        [first_turn] = self.busy('b1')
        last = self.ask('admin', 'c1')

        first_turn.set()
        self.decided(last, 'admin')

        self.assertEqual('c1', self.order[2])

    def test_a_project_has_its_next_turn_after_those_who_come_meanwhile(self):
        first_turn, second_turn = self.busy('b1', 'b2')
        first_turn.set()
        self.deciding.acquire()
        last = self.ask('admin', 'c1')

        second_turn.set()
        self.decided(last, 'admin')

        self.assertEqual(['b2', 'c1'], self.order[2:4])

    def test_a_proposal_waits_as_a_row(self):
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

    def test_a_server_that_waits_for_another_place_waits_for_no_slot(self):
        self.hold(3)
        self.ask(hold=False)
        self.ask('other', hold=False)
        self.deciding.acquire()
        self.deciding.acquire()

        self.disable(self.before['a-0'])

        self.assert_elsewhere()


class TestLimit(SharingCase):
    def setUp(self):
        super().setUp()
        self.override('max_planning_per_project', 1)

    def refused(self, response):
        self.assertEqual(409, response.status_code, response.text)
        self.assertIn('may have 1 at a time', response.text)

    def test_a_project_has_so_many_that_are_planned(self):
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
        self.decided(self.ask('other', 'quick'), 'other')
        self.go_on.set()
        self.eventually(
            self.act,
            lambda answer: answer.status_code == 202,
            *(self.uuid, 'propose'),
        )

    def test_a_proposal_that_waits_counts(self):
        self.hold(1)
        self.change_row(self.uuid, drift=[{'at': '', 'policy': {}}])
        self.ask(hold=False)
        self.deciding.acquire()
        self.override('max_planning_per_project', 2)
        self.assertEqual(202, self.act(self.uuid, 'propose').status_code)

        response = self.post(topology=ONE)

        self.assertEqual(409, response.status_code, response.text)
        self.assertIn('has 2 VRT groups, revisions', response.text)
