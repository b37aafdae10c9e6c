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
        stems = problem.topology.stems
        self._least = {stem.path: stem.min_count for stem in stems}
        self._known = {}

    def key(self, change):
        """Return a hashable key, equal for relaxations of equal effect.

        :param change: corrections.Relaxation
        :returns: (frozenset of policy assumptions, frozenset of pairs: member
            set path and by how much its minimum falls)
        """
        fewer = {
            (path, self._least[path] - number)
            for path, number in change.least
            if number < self._least[path]
        }
        return frozenset(change.rules), frozenset(fewer)

    def note(self, change, helps):
        """Store whether a relaxation helps, which must be proved."""
        self._known[self.key(change)] = helps

    def recall(self, change):
        """Return whether a relaxation helps, None if unknown."""
        key = self.key(change)
        for known, helps in self._known.items():
            less, more = (known, key) if helps else (key, known)
            if _is_within(less, more):
                return helps
        return None


def _is_within(less, more):
    """Check whether one key relaxes no more than another."""
    (rules, fewer), (more_rules, most) = less, more
    most = dict(most)
    return rules <= more_rules and all(
        number <= most.get(path, 0) for path, number in fewer
    )
