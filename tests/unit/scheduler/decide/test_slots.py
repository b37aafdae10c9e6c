# SPDX-License-Identifier: Apache-2.0
"""Does every project get a slot, and who is waited for in any case?"""

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
        return self.stack.enter_context(self.slots.taken(project, **kwargs))

    def test_no_project_has_all_of_them(self):
        found = [self.take(each) for each in ('a', 'a', 'a', 'b', 'c')]

        self.assertEqual([True, True, False, True, False], found)

    def test_what_was_given_back_is_taken_again(self):
        with self.slots.taken('a'), self.slots.taken('a') as second:
            self.assertTrue(second)
            self.assertFalse(self.slots.admits('a'))
            with self.slots.taken('a') as third:
                self.assertFalse(third)

        self.assertTrue(self.take('a'))
        self.assertTrue(self.take('a'))

    def test_one_more_is_for_who_is_waited_for(self):
        for project in ('a', 'a', 'b'):
            self.take(project)
        with self.slots.taken('a', is_urgent=True) as urgent:
            self.assertTrue(urgent)
            self.assertFalse(self.take('b', is_urgent=True))

        self.assertTrue(self.take('b', is_urgent=True))

    def test_who_is_waited_for_takes_any_first(self):
        self.assertTrue(self.take('a', is_urgent=True))
        self.assertTrue(self.take('a', is_urgent=True))
        self.assertTrue(self.take('a', is_urgent=True))
        self.assertFalse(self.take('a', is_urgent=True))
        self.assertTrue(self.take('b'))

    def test_an_error_gives_it_back(self):
        with contextlib.suppress(ValueError), self.slots.taken('a'):
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

    def test_who_had_a_turn_comes_after_who_had_none(self):
        waiting = [(name[0], name) for name in ('b1', 'b2', 'c1')]
        with self.slots.taken('b'):
            pass
        self.assertEqual(['c1', 'b1', 'b2'], self.slots.in_turn(waiting))

        with self.slots.taken('c'):
            pass

        self.assertEqual(['b1', 'c1', 'b2'], self.slots.in_turn(waiting))
