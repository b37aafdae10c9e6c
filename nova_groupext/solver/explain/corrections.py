# SPDX-License-Identifier: Apache-2.0
"""Relaxations: changes to a group that may make its problem feasible.

A relaxation yields the changed problem, its entry in the answer file, and the
text that follows "fits".
"""

import dataclasses
from typing import NamedTuple

from nova_groupext.solver.aliases import Path
from nova_groupext.solver.explain import sentences
from nova_groupext.solver.language import topology
from nova_groupext.solver.model import answer_parts
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import problems


class MinCount(NamedTuple):
    """New ``min_count`` of the member set with this path."""

    path: Path
    number: int


@dataclasses.dataclass(frozen=True)
class Relaxation:
    """Strict policies that become soft, and lower minimums of member sets."""

    softened: tuple[assumptions.PolicyAssumption, ...] = ()
    min_counts: tuple[MinCount, ...] = ()

    def apply(self, problem: problems.Problem) -> problems.Problem:
        """Return the changed problem."""
        min_counts = dict(self.min_counts)
        policies = tuple(
            dataclasses.replace(policy, strict=False)
            if assumptions.of_policy(policy) in self.softened
            else policy
            for policy in problem.topology.policies
        )
        member_sets = tuple(
            dataclasses.replace(
                member_set, min_count=min_counts[member_set.path]
            )
            if member_set.path in min_counts
            else member_set
            for member_set in problem.topology.member_sets
        )
        return dataclasses.replace(
            problem,
            topology=dataclasses.replace(
                problem.topology, policies=policies, member_sets=member_sets
            ),
        )

    def lost_members(self, problem: problems.Problem) -> int:
        """Return how many fewer members are required."""
        return sum(
            member_set.min_count - number
            for member_set, number in self._member_sets(problem)
        )

    def to_dict(self, problem: problems.Problem) -> answer_parts.Change:
        """Return the relaxation in the format of the answer file."""
        parts: list[answer_parts.SingleChange] = [
            {
                'at': policy.at,
                'policy': policy.type,
                'scope': policy.scope,
                'strict': False,
            }
            for policy in self.softened
        ]
        parts += [
            {
                'at': member_set.node,
                'members': member_set.name,
                'min_count': number,
            }
            for member_set, number in self._member_sets(problem)
        ]
        return parts[0] if len(parts) == 1 else {'together': parts}

    def text(self, problem: problems.Problem) -> str:
        """Return the relaxation in words."""
        member_sets = [
            (sentences.part(member_set, number), number)
            for member_set, number in self._member_sets(problem)
        ]
        kept = [text for text, number in member_sets if number]
        omitted = [text for text, number in member_sets if not number]
        clauses = [f'with {sentences.join_list(kept)}'] if kept else []
        if omitted:
            clauses.append(f'without {sentences.join_list(omitted)}')
        policies = [
            f'the {sentences.phrase(problem, policy)}'
            for policy in self.softened
        ]
        parts = [' and '.join(clauses)] if clauses else []
        if policies:
            verb = 'is' if len(policies) == 1 else 'are'
            parts.append(f'if {sentences.join_list(policies)} {verb} soft')
        return ' '.join(parts)

    def _member_sets(
        self, problem: problems.Problem
    ) -> list[tuple[topology.MemberSet, int]]:
        """Return the member sets whose minimums change, and the new ones."""
        member_sets = {
            member_set.path: member_set
            for member_set in problem.topology.member_sets
        }
        return [
            (member_sets[path], number)
            for path, number in self.min_counts
            if number != member_sets[path].min_count
        ]


class ClassRelaxation(Relaxation):
    """Lower minimums of several member sets of one member class."""

    def to_dict(self, problem: problems.Problem) -> answer_parts.ClassChange:
        """Return the relaxation in the format of the answer file."""
        member_sets = {
            member_set.path: member_set
            for member_set in problem.topology.member_sets
        }
        name = member_sets[self.min_counts[0].path].spec['class']
        return {'class': name, 'min_counts': dict(self.min_counts)}

    def text(self, problem: problems.Problem) -> str:
        """Return the text, without the class name: owners do not know it."""
        member_sets = {
            member_set.path: member_set
            for member_set in problem.topology.member_sets
        }
        first, _number = self.min_counts[0]
        kept = sum(number for _, number in self.min_counts)
        if not kept:
            return f'without any members like {first}'
        count = sum(member_sets[path].count for path, _ in self.min_counts)
        return f'with {kept} of {count} members like {first}'
