# SPDX-License-Identifier: Apache-2.0
"""Relaxations: changes to a group that may make its problem feasible.

A relaxation yields the changed problem, its entry in the answer file, and the
text that follows "fits".
"""

import dataclasses

from nova_groupext.solver.explain import sentences
from nova_groupext.solver.model import assumptions


@dataclasses.dataclass(frozen=True)
class Relaxation:
    """Strict policies that become soft, and lower minimums of member sets.

    :ivar rules: tuple of assumptions.PolicyAssumption
    :ivar least: tuple of (path of a member set, its new min_count)
    """

    rules: tuple = ()
    least: tuple = ()

    def apply(self, problem):
        """Return the changed problems.Problem."""
        least = dict(self.least)
        policies = tuple(
            dataclasses.replace(policy, strict=False)
            if assumptions.rule(policy) in self.rules
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
        """Return how many fewer members are required."""
        return sum(
            stem.min_count - number for stem, number in self._stems(problem)
        )

    def to_dict(self, problem):
        """Return the relaxation in the format of the answer file."""
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
        """Return the relaxation in words."""
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
        """Return (member set, its new min_count) pairs that differ."""
        stems = {stem.path: stem for stem in problem.topology.stems}
        return [
            (stems[path], number)
            for path, number in self.least
            if number != stems[path].min_count
        ]


class ClassRelaxation(Relaxation):
    """Lower minimums of several member sets of one member class."""

    def to_dict(self, problem):
        """Return the relaxation in the format of the answer file."""
        stems = {stem.path: stem for stem in problem.topology.stems}
        name = stems[self.least[0][0]].spec['class']
        return {'class': name, 'min_counts': dict(self.least)}

    def text(self, problem):
        """Return the text, without the class name: owners do not know it."""
        stems = {stem.path: stem for stem in problem.topology.stems}
        first, _number = self.least[0]
        kept = sum(number for _, number in self.least)
        if not kept:
            return f'without any members like {first}'
        count = sum(stems[path].count for path, _ in self.least)
        return f'with {kept} of {count} members like {first}'
