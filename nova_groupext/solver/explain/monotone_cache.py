# SPDX-License-Identifier: Apache-2.0
"""Cache of relaxations that are known to help or not, with implications.

If one helps, all larger ones do; if one does not, no smaller one does.
"""

from typing import NamedTuple

from nova_groupext.solver.aliases import Path
from nova_groupext.solver.explain import corrections
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import problems


class Effect(NamedTuple):
    """Effect of a relaxation on the problem, whatever its class.

    :ivar fewer: member sets, and by how much their minimums fall
    """

    softened: frozenset[assumptions.PolicyAssumption]
    fewer: frozenset[tuple[Path, int]]


class MonotoneCache:
    """Known benefits of relaxations of one problem."""

    def __init__(self, problem: problems.Problem) -> None:
        """Start empty.

        :param problem: the problem that the relaxations change
        """
        member_sets = problem.topology.member_sets
        self._min_counts = {
            member_set.path: member_set.min_count for member_set in member_sets
        }
        self._cache: dict[Effect, bool] = {}

    def key(self, relaxation: corrections.Relaxation) -> Effect:
        """Return the effect of a relaxation, by which it is cached."""
        fewer = {
            (path, self._min_counts[path] - number)
            for path, number in relaxation.min_counts
            if number < self._min_counts[path]
        }
        return Effect(frozenset(relaxation.softened), frozenset(fewer))

    def store(self, relaxation: corrections.Relaxation, helps: bool) -> None:
        """Store whether a relaxation helps, which must be proved."""
        self._cache[self.key(relaxation)] = helps

    def get(self, relaxation: corrections.Relaxation) -> bool | None:
        """Return whether a relaxation helps, None if unknown."""
        key = self.key(relaxation)
        for other, helps in self._cache.items():
            smaller, larger = (other, key) if helps else (key, other)
            if _is_within(smaller, larger):
                return helps
        return None


def _is_within(smaller: Effect, larger: Effect) -> bool:
    """Check whether one effect relaxes no more than another."""
    all_fewer = dict(larger.fewer)
    return smaller.softened <= larger.softened and all(
        number <= all_fewer.get(path, 0) for path, number in smaller.fewer
    )
