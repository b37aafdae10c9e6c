# SPDX-License-Identifier: Apache-2.0
"""A plan applied to a search state, with members unassigned temporarily."""

import collections
from collections.abc import Iterator
from collections.abc import Mapping
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
        before = self._assignments
        self._change(
            {p: a for p, a in before.items() if assignments.get(p) != a}, -1
        )
        self._change(
            {p: a for p, a in assignments.items() if before.get(p) != a}, 1
        )
        self._assignments = assignments

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
        self._change(assignments, -1)
        try:
            yield collections.Counter(
                self._eq_class_of[path] for path in sorted(paths)
            )
        finally:
            self._change(assignments, 1)

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

    def _change(
        self, assignments: Mapping[Path, tuple[int, int]], sign: int
    ) -> None:
        self.state.change(
            [
                (self._eq_class_of[path], host, option)
                for path, (host, option) in assignments.items()
            ],
            sign,
        )
