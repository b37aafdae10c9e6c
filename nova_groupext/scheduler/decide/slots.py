# SPDX-License-Identifier: Apache-2.0
"""Slots that limit how many groups a planner plans at a time.

A decision may need a core and much memory for a while, so slots are few. No
project gets all of them, and one extra slot is for members whose servers wait,
if their project has no other such slot. No thread waits for a slot: a group
without one stays a row in the database until a later round.
"""

import collections
import contextlib
import operator
import threading

NORMAL, EXTRA = 'normal', 'extra'


class Slots:
    """Thread-safe pool of planning slots with turns for projects.

    :param number: of slots, at least 2
    """

    def __init__(self, number):
        self._number = number
        self._lock = threading.Lock()
        self._taken = collections.Counter()
        # {project: number of its last turn}
        self._turns = collections.Counter()
        self._is_extra_taken = False
        # Slots that projects have for servers that wait
        self._urgent = collections.Counter()

    def admits(self, project_id, *, is_urgent=False):
        """Check whether a project would get a slot now; see take()."""
        has_turn = (
            self._taken.total() < self._number
            and self._taken[project_id] < self._number - 1
        )
        return has_turn or (is_urgent and self._is_extra_free(project_id))

    def _is_extra_free(self, project_id):
        return not (self._is_extra_taken or self._urgent[project_id])

    @contextlib.contextmanager
    def take(self, project_id, *, is_urgent=False):
        """Take a slot, if the project may have one; yield whether it got one.

        :param is_urgent: whether a server waits for the result
        """
        slot = self._take(project_id, is_urgent)
        try:
            yield slot is not None
        finally:
            if slot is not None:
                self._release(project_id, slot, is_urgent)

    def _take(self, project_id, is_urgent):
        """Return the kind of slot that was taken; None if there is none."""
        with self._lock:
            if self.admits(project_id):
                slot = NORMAL
                self._taken[project_id] += 1
                self._turns[project_id] = 1 + max(
                    self._turns.values(), default=0
                )
            elif is_urgent and self._is_extra_free(project_id):
                slot = EXTRA
                self._is_extra_taken = True
            else:
                return None
            self._urgent[project_id] += is_urgent
        return slot

    def _release(self, project_id, slot, is_urgent):
        with self._lock:
            if slot == EXTRA:
                self._is_extra_taken = False
            else:
                self._taken[project_id] -= 1
            self._urgent[project_id] -= is_urgent
            self._taken += collections.Counter()
            self._urgent += collections.Counter()

    def in_turn(self, waiting):
        """Return waiting items in the order in which they should get slots.

        First one item of each project, then a second one, and so on. Projects
        that use slots come later; among equals, those that had a turn last.

        :param waiting: [(project id, item)], oldest first
        """
        with self._lock:
            before = collections.Counter(self._taken)
            turns = dict(self._turns)
        ranked = []
        for project_id, item in waiting:
            rank = before[project_id], turns.get(project_id, 0)
            ranked.append((rank, item))
            before[project_id] += 1
        ranked.sort(key=operator.itemgetter(0))
        return [item for _rank, item in ranked]
