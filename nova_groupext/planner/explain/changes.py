# SPDX-License-Identifier: Apache-2.0
"""What the owner of a group could change about it.

A change knows the changed problem, its entry in the answer file and the words
that come after "fits".
"""

import dataclasses

from nova_groupext.planner import tags as tag
from nova_groupext.planner.explain import sentences


@dataclasses.dataclass(frozen=True)
class Change:
    """Strict policies become soft, of some stems fewer members are enough.

    :ivar rules: tuple of tags.Rule
    :ivar least: tuple of (stem path, its new min_count)
    """

    rules: tuple = ()
    least: tuple = ()

    def apply(self, problem):
        """The changed problem.Problem."""
        least = dict(self.least)
        policies = tuple(
            dataclasses.replace(policy, strict=False)
            if tag.rule(policy) in self.rules
            else policy
            for policy in problem.topology.policies
        )
        stems = tuple(
            dataclasses.replace(stem, min_count=least[stem.path])
            if stem.path in least
            else stem
            for stem in problem.topology.stems
        )
        return dataclasses.replace(
            problem,
            topology=dataclasses.replace(
                problem.topology, policies=policies, stems=stems
            ),
        )

    def lost(self, problem):
        """How many members fewer have to come."""
        return sum(
            stem.min_count - number for stem, number in self._stems(problem)
        )

    def to_dict(self, problem):
        """The change as it stands in the answer file."""
        parts = [
            {
                'at': rule.at,
                'policy': rule.type,
                'scope': rule.scope,
                'strict': False,
            }
            for rule in self.rules
        ] + [
            {'at': stem.node, 'members': stem.name, 'min_count': number}
            for stem, number in self._stems(problem)
        ]
        return parts[0] if len(parts) == 1 else {'together': parts}

    def text(self, problem):
        """What it is, in words."""
        told = [
            (sentences.part(stem, number), number)
            for stem, number in self._stems(problem)
        ]
        kept = [text for text, number in told if number]
        gone = [text for text, number in told if not number]
        parts = [f'with {sentences.in_a_row(kept)}'] if kept else []
        if gone:
            parts.append(f'without {sentences.in_a_row(gone)}')
        softer = [f'the {sentences.phrase(problem, r)}' for r in self.rules]
        words = [' and '.join(parts)] if parts else []
        if softer:
            verb = 'is' if len(softer) == 1 else 'are'
            words.append(f'if {sentences.in_a_row(softer)} {verb} soft')
        return ' '.join(words)

    def _stems(self, problem):
        """(stem, its new min_count) where that is another one."""
        stems = {stem.path: stem for stem in problem.topology.stems}
        return [
            (stems[path], number)
            for path, number in self.least
            if number != stems[path].min_count
        ]


class OfClass(Change):
    """Fewer members of several stems, all of which have the same needs."""

    def to_dict(self, problem):
        """The change as it stands in the answer file."""
        stems = {stem.path: stem for stem in problem.topology.stems}
        name = stems[self.least[0][0]].spec['class']
        return {'class': name, 'min_counts': dict(self.least)}

    def text(self, problem):
        """What it is, in words; a class has no name that its owner knows."""
        stems = {stem.path: stem for stem in problem.topology.stems}
        first, _number = self.least[0]
        kept = sum(number for _, number in self.least)
        if not kept:
            return f'without any members like {first}'
        count = sum(stems[path].count for path, _ in self.least)
        return f'with {kept} of {count} members like {first}'
