# SPDX-License-Identifier: Apache-2.0
"""A plan applied to a search state, with members unassigned temporarily."""

import collections
from collections.abc import Iterator
from collections.abc import Set
import contextlib
import dataclasses

from nova_groupext.solver.aliases import Path
from nova_groupext.solver.construct import search_state
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from nova_groupext.solver.model.equivalence import EquivalenceClass


class AssignmentState:
    """A search state with the members of a plan assigned to their hosts."""

    def __init__(
        self, problem: problems.Problem, plan: violations.Plan
    ) -> None:
        self.state = search_state.SearchState(problem)
        self._eq_class_of = {
            path: eq_class
            for eq_class in self.state.eq_classes
            for path in eq_class.members
        }
        # Numbers of the host and of the option.
        self._assignments: dict[Path, tuple[int, int]] = {}
        self.apply(plan)

    def apply(self, plan: violations.Plan) -> None:
        """Assign the members as in another plan."""
        number = self.state.matrices.number
        assignments = {
            path: (number[host], plan.alternative.get(path, 0))
            for path, host in plan.placement.items()
            if path in self._eq_class_of
        }
        for path in self._assignments.keys() - assignments.keys():
            self._unassign(path)
        for path, assignment in assignments.items():
            if self._assignments.get(path) != assignment:
                if path in self._assignments:
                    self._unassign(path)
                self._assign(path, *assignment)

    @contextlib.contextmanager
    def unassigned(
        self, paths: Set[Path]
    ) -> Iterator[collections.Counter[EquivalenceClass]]:
        """Unassign some members within the context.

        :returns: numbers of the members by class
        """
        assignments = {
            path: self._assignments[path]
            for path in paths & self._assignments.keys()
        }
        for path in assignments:
            self._unassign(path)
        try:
            yield collections.Counter(
                self._eq_class_of[path] for path in sorted(paths)
            )
        finally:
            for path, assignment in assignments.items():
                self._assign(path, *assignment)

    def restrict_classes(
        self, paths: Set[Path]
    ) -> dict[EquivalenceClass, EquivalenceClass]:
        """Return copies of classes with only some of their members."""
        parts = {}
        for eq_class in self.state.eq_classes:
            members = tuple(path for path in eq_class.members if path in paths)
            if members:
                parts[eq_class] = dataclasses.replace(
                    eq_class, members=members
                )
        return parts

    def _assign(self, path: Path, host: int, option: int) -> None:
        self.state.assign(self._eq_class_of[path], host, option)
        self._assignments[path] = host, option

    def _unassign(self, path: Path) -> None:
        self.state.unassign(
            self._eq_class_of[path], *self._assignments.pop(path)
        )
