# SPDX-License-Identifier: Apache-2.0
"""What is known of some changes, and what follows for others.

Who leaves out more, or makes more policies soft, has a plan the sooner.
"""


class Answers:
    """Whether changes help, as far as it is known."""

    def __init__(self, problem):
        """Nothing is known yet.

        :param problem: problem.Problem that the changes are made to
        """
        stems = problem.topology.stems
        self._least = {stem.path: stem.min_count for stem in stems}
        self._known = {}

    def key(self, change):
        """What two changes have in common that help alike; it has a hash.

        :param change: changes.Change
        :returns: (frozenset of rules, frozenset of pairs: path of a stem and
            how many fewer of its members have to come)
        """
        fewer = {
            (path, self._least[path] - number)
            for path, number in change.least
            if number < self._least[path]
        }
        return frozenset(change.rules), frozenset(fewer)

    def note(self, change, helps):
        """Remember that a change is proved to help, or not to."""
        self._known[self.key(change)] = helps

    def recall(self, change):
        """Whether a change helps, None if that does not follow."""
        key = self.key(change)
        for known, helps in self._known.items():
            less, more = (known, key) if helps else (key, known)
            if _is_within(less, more):
                return helps
        return None


def _is_within(less, more):
    """Whether one key asks for no change that another one does not."""
    (rules, fewer), (more_rules, most) = less, more
    most = dict(most)
    return rules <= more_rules and all(
        number <= most.get(path, 0) for path, number in fewer
    )
