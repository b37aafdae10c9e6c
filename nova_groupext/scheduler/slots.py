# SPDX-License-Identifier: Apache-2.0
"""How many groups a planner plans at a time, and whose they are.

A decision may need a whole core and much memory for a while, so there are only
so many slots. No project has all of them, and one more is kept for members
whose servers wait. Nobody waits for a slot: what does not get one stays a row
in the database, and is looked at when one is free.
"""

import collections
import contextlib
import threading


class Slots:
    """Safe to use from several threads.

    :param number: of slots, at least 2
    """

    def __init__(self, number):
        self._number = number
        self._lock = threading.Lock()
        self._taken = collections.Counter()
        self._is_urgent_taken = False

    def admits(self, project_id):
        """Tell whether a project would get a slot now."""
        return (
            self._taken.total() < self._number
            and self._taken[project_id] < self._number - 1
        )

    @contextlib.contextmanager
    def taken(self, project_id, *, is_urgent=False):
        """Take a slot, if there is one for the project; yields whether.

        :param is_urgent: whether somebody waits for what is planned
        """
        give_back = self._take(project_id, is_urgent)
        try:
            yield give_back is not None
        finally:
            if give_back is not None:
                give_back()

    def _take(self, project_id, is_urgent):
        """Return what gives the slot back; None where there is none."""
        with self._lock:
            if self.admits(project_id):
                self._taken[project_id] += 1
                return lambda: self._give_back(project_id)
            if is_urgent and not self._is_urgent_taken:
                self._is_urgent_taken = True
                return self._give_urgent_back
        return None

    def _give_back(self, project_id):
        with self._lock:
            self._taken[project_id] -= 1
            self._taken += collections.Counter()

    def _give_urgent_back(self):
        with self._lock:
            self._is_urgent_taken = False

    def in_turn(self, waiting):
        """Return what waits in the order in which it should get slots.

        First one of each project, then a second one, and so on; who plans
        already comes later.

        :param waiting: [(project id, anything)], oldest first
        """
        with self._lock:
            before = collections.Counter(self._taken)
        ranked = []
        for project_id, each in waiting:
            ranked.append((before[project_id], each))
            before[project_id] += 1
        ranked.sort(key=lambda one: one[0])
        return [each for _rank, each in ranked]
