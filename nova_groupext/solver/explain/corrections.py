# SPDX-License-Identifier: Apache-2.0
"""Relaxations: changes to a group that may make its problem feasible.

A relaxation yields the changed problem, its entry in the answer file, and the
text that follows "fits".
"""

from collections.abc import Mapping
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


class Minimum(NamedTuple):
    """Member sets whose minimums fall as one change.

    :ivar class_name: class of several member sets; None for different ones
    """

    paths: tuple[Path, ...]
    class_name: str | None = None


@dataclasses.dataclass(frozen=True)
class Relaxation:
    """Strict policies that become soft, and lower minimums of member sets.

    :ivar joint: minimums of several member sets that are one change each
    """

    softened: tuple[assumptions.PolicyAssumption, ...] = ()
    min_counts: tuple[MinCount, ...] = ()
    joint: tuple[Minimum, ...] = ()

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
            for member_set, number in self._changed(_by_path(problem))
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
        parts += map(self._joint_change, self._changed_joint(problem))
        parts += [
            {
                'at': member_set.node,
                'members': member_set.name,
                'min_count': number,
            }
            for member_set, number in self._single(problem)
        ]
        return parts[0] if len(parts) == 1 else {'together': parts}

    def _joint_change(self, minimum: Minimum) -> answer_parts.JointMinimum:
        min_counts = dict(self.min_counts)
        change: answer_parts.JointMinimum = {
            'min_counts': {path: min_counts[path] for path in minimum.paths}
        }
        if minimum.class_name is not None:
            change['class'] = minimum.class_name
        return change

    def text(self, problem: problems.Problem) -> str:
        """Return the relaxation in words."""
        phrases = [
            *(
                self._joint_phrase(problem, each)
                for each in self._changed_joint(problem)
            ),
            *(
                (sentences.part(member_set, number), number)
                for member_set, number in self._single(problem)
            ),
        ]
        kept = [text for text, number in phrases if number]
        omitted = [text for text, number in phrases if not number]
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

    def _joint_phrase(
        self, problem: problems.Problem, minimum: Minimum
    ) -> tuple[str, int]:
        """Return a phrase for several member sets, and the number required.

        Owners do not know the names of classes.
        """
        min_counts, member_sets = dict(self.min_counts), _by_path(problem)
        kept = sum(min_counts[path] for path in minimum.paths)
        count = sum(member_sets[path].count for path in minimum.paths)
        like = f' like {minimum.paths[0]}' if minimum.class_name else ''
        if kept:
            return f'{kept} of {count} members{like}', kept
        return f'any members{like}' if like else f'{count} members', kept

    def _changed_joint(self, problem: problems.Problem) -> list[Minimum]:
        changed = {each.path for each, _ in self._changed(_by_path(problem))}
        return [
            each for each in self.joint if not changed.isdisjoint(each.paths)
        ]

    def _single(
        self, problem: problems.Problem
    ) -> list[tuple[topology.MemberSet, int]]:
        """Return the member sets that are changes of their own."""
        joint = {path for minimum in self.joint for path in minimum.paths}
        return [
            (member_set, number)
            for member_set, number in self._changed(_by_path(problem))
            if member_set.path not in joint
        ]

    def _changed(
        self, member_sets: Mapping[Path, topology.MemberSet]
    ) -> list[tuple[topology.MemberSet, int]]:
        """Return the member sets whose minimums change, and the new ones."""
        return [
            (member_sets[path], number)
            for path, number in self.min_counts
            if number != member_sets[path].min_count
        ]


def _by_path(problem: problems.Problem) -> dict[Path, topology.MemberSet]:
    return {
        member_set.path: member_set
        for member_set in problem.topology.member_sets
    }
