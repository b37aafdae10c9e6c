# SPDX-License-Identifier: Apache-2.0
"""Slots of a planner, shared between projects and urgent requests."""

import contextlib

from oslotest import base

from nova_groupext.scheduler.decide import slots


class TestSlots(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.slots = slots.Slots(3)
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)

    def take(self, project, **kwargs):
        return self.stack.enter_context(self.slots.take(project, **kwargs))

    def test_one_project_does_not_get_all_slots(self):
        found = [self.take(each) for each in ('a', 'a', 'a', 'b', 'c')]

        self.assertEqual([True, True, False, True, False], found)

    def test_released_slot_can_be_taken(self):
        with self.slots.take('a'), self.slots.take('a') as second:
            self.assertTrue(second)
            self.assertFalse(self.slots.admits('a'))
            with self.slots.take('a') as third:
                self.assertFalse(third)

        self.assertTrue(self.take('a'))
        self.assertTrue(self.take('a'))

    def test_one_more_slot_is_for_an_urgent_request(self):
        for project in ('a', 'a', 'b'):
            self.take(project)
        with self.slots.take('a', is_urgent=True) as urgent:
            self.assertTrue(urgent)
            self.assertFalse(self.take('b', is_urgent=True))

        self.assertTrue(self.take('b', is_urgent=True))

    def test_urgent_request_is_admitted_while_the_extra_slot_is_free(self):
        for project in ('a', 'a', 'b'):
            self.take(project)

        self.assertFalse(self.slots.admits('c'))
        self.assertTrue(self.slots.admits('c', is_urgent=True))
        self.take('c', is_urgent=True)
        self.assertFalse(self.slots.admits('d', is_urgent=True))

    def test_urgent_request_takes_any_free_slot_first(self):
        self.assertTrue(self.take('a', is_urgent=True))
        self.assertTrue(self.take('a', is_urgent=True))
        self.assertTrue(self.take('b'))
        self.assertTrue(self.take('b', is_urgent=True))
        self.assertFalse(self.take('c', is_urgent=True))

    def test_extra_slot_is_for_a_project_without_another_urgent_one(self):
        urgent = [('a', True), ('a', True), ('a', False), ('b', True)]
        found = [
            self.take(project, is_urgent=True) for project, _is_taken in urgent
        ]

        self.assertEqual([is_taken for _project, is_taken in urgent], found)
        self.assertTrue(self.take('c', is_urgent=True))

    def test_error_releases_the_slot(self):
        with contextlib.suppress(ValueError), self.slots.take('a'):
            raise ValueError
        self.assertTrue(self.take('a'))
        self.assertTrue(self.take('a'))

    def test_projects_take_turns(self):
        waiting = [(name[0], name) for name in ('a1', 'a2', 'a3', 'b1', 'c1')]
        self.assertEqual(
            ['a1', 'b1', 'c1', 'a2', 'a3'], self.slots.in_turn(waiting)
        )

        self.take('a')

        self.assertEqual(
            ['b1', 'c1', 'a1', 'a2', 'a3'], self.slots.in_turn(waiting)
        )

    def test_project_after_its_turn_comes_last(self):
        waiting = [(name[0], name) for name in ('b1', 'b2', 'c1')]
        with self.slots.take('b'):
            pass
        self.assertEqual(['c1', 'b1', 'b2'], self.slots.in_turn(waiting))

        with self.slots.take('c'):
            pass

        self.assertEqual(['b1', 'c1', 'b2'], self.slots.in_turn(waiting))
