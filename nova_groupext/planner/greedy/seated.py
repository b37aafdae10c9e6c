# SPDX-License-Identifier: Apache-2.0
"""A plan on the board, from which members can be lifted for a while."""

import collections
import contextlib
import dataclasses

from nova_groupext.planner.greedy import setting as settings


class Seated:
    """A setting with the members of a plan in their seats.

    :ivar setting: setting.Setting
    """

    def __init__(self, problem, plan):
        self.setting = settings.Setting(problem)
        self._unit_of = {
            path: unit for unit in self.setting.units for path in unit.members
        }
        self._seats = {}
        self.change_to(plan)

    def change_to(self, plan):
        """Seat the members as another plan has it."""
        number = self.setting.board.number
        seats = {
            path: (number[host], plan.alternative.get(path, 0))
            for path, host in plan.placement.items()
            if path in self._unit_of
        }
        for path in self._seats.keys() - seats.keys():
            self._take(path)
        for path, seat in seats.items():
            if self._seats.get(path) != seat:
                if path in self._seats:
                    self._take(path)
                self._put(path, *seat)

    @contextlib.contextmanager
    def lifted(self, paths):
        """Let some members stand up meanwhile.

        :returns: unit -> how many of its members stand
        """
        seats = {
            path: self._seats[path] for path in paths & self._seats.keys()
        }
        for path in seats:
            self._take(path)
        try:
            yield collections.Counter(
                self._unit_of[path] for path in sorted(paths)
            )
        finally:
            for path, seat in seats.items():
                self._put(path, *seat)

    def parts(self, paths):
        """units.Unit -> the same with only those of its members."""
        some = collections.defaultdict(list)
        for unit in self.setting.units:
            members = tuple(path for path in unit.members if path in paths)
            if members:
                some[unit] = dataclasses.replace(unit, members=members)
        return some

    def _put(self, path, host, way):
        self.setting.put(self._unit_of[path], host, way)
        self._seats[path] = host, way

    def _take(self, path):
        self.setting.take(self._unit_of[path], *self._seats.pop(path))
