# SPDX-License-Identifier: Apache-2.0
"""Cache of relaxations that are known to help or not, with implications.

If one helps, all larger ones do; if one does not, no smaller one does.
"""


class MonotoneCache:
    """Known effects of relaxations on one problem."""

    def __init__(self, problem):
        """Start empty.

        :param problem: problems.Problem that the relaxations change
        """
        member_sets = problem.topology.member_sets
        self._min_counts = {
            member_set.path: member_set.min_count for member_set in member_sets
        }
        self._cache = {}

    def key(self, relaxation):
        """Return a hashable key, equal for relaxations of equal effect.

        :param relaxation: corrections.Relaxation
        :returns: (frozenset of policy assumptions, frozenset of pairs: member
            set path and by how much its minimum falls)
        """
        fewer = {
            (path, self._min_counts[path] - number)
            for path, number in relaxation.min_counts
            if number < self._min_counts[path]
        }
        return frozenset(relaxation.softened), frozenset(fewer)

    def store(self, relaxation, helps):
        """Store whether a relaxation helps, which must be proved."""
        self._cache[self.key(relaxation)] = helps

    def get(self, relaxation):
        """Return whether a relaxation helps, None if unknown."""
        key = self.key(relaxation)
        for other, helps in self._cache.items():
            smaller, larger = (other, key) if helps else (key, other)
            if _is_within(smaller, larger):
                return helps
        return None


def _is_within(smaller, larger):
    """Check whether one key relaxes no more than another."""
    (softened, fewer), (all_softened, all_fewer) = smaller, larger
    all_fewer = dict(all_fewer)
    return softened <= all_softened and all(
        number <= all_fewer.get(path, 0) for path, number in fewer
    )
