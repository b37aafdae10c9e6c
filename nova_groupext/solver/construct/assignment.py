# SPDX-License-Identifier: Apache-2.0
"""A plan applied to a search state; members can be unassigned for a while."""

import collections
import contextlib
import dataclasses

from nova_groupext.solver.construct import search_state


class AssignmentState:
    """A search state with the members of a plan assigned to their hosts.

    :ivar state: search_state.SearchState
    """

    def __init__(self, problem, plan):
        self.state = search_state.SearchState(problem)
        self._unit_of = {
            path: unit for unit in self.state.units for path in unit.members
        }
        self._seats = {}
        self.change_to(plan)

    def change_to(self, plan):
        """Reassign the members as another plan demands."""
        number = self.state.matrices.number
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
        """Unassign some members within the context.

        :returns: Counter of equivalence classes of all ``paths``
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
        """Return {EquivalenceClass: copy with only those of its members}."""
        some = collections.defaultdict(list)
        for unit in self.state.units:
            members = tuple(path for path in unit.members if path in paths)
            if members:
                some[unit] = dataclasses.replace(unit, members=members)
        return some

    def _put(self, path, host, way):
        self.state.put(self._unit_of[path], host, way)
        self._seats[path] = host, way

    def _take(self, path):
        self.state.take(self._unit_of[path], *self._seats.pop(path))
