# SPDX-License-Identifier: Apache-2.0
"""Search for relaxations with which the whole problem has a plan.

The least intrusive come first: a softened policy of the conflict leaves out no
member; then lower minimums, the smallest loss first. If no single relaxation
helps, the problem has several conflicts, and one relaxation of each is made.
"""

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import itertools
import math
from typing import TypeVar

from nova_groupext.solver import tuning
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.explain import minimal_conflict
from nova_groupext.solver.explain import minimums
from nova_groupext.solver.explain import relaxed_plans
from nova_groupext.solver.explain.corrections import MinCount
from nova_groupext.solver.explain.corrections import Minimum
from nova_groupext.solver.explain.corrections import Relaxation
from nova_groupext.solver.explain.feasibility_oracle import Oracle
from nova_groupext.solver.model import answer_parts
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model.assumptions import Assumption
from nova_groupext.solver.model.assumptions import MemberAssumption
from nova_groupext.solver.model.assumptions import PolicyAssumption

# Limit on changes of one relaxation; more are no help to an owner.
_MAX_CHANGES = 3

_Selected = TypeVar('_Selected', bound=Assumption)


def find_corrections(
    oracle: Oracle, conflict: minimal_conflict.Conflict
) -> list[answer_parts.RelaxationEntry]:
    """Return relaxations that are verified to help."""
    search = _Search(oracle, conflict.assumed)
    found = (
        search.find_single()
        or search.find_combined()
        or search.find_from_partial_plan()
    )
    return [
        {
            'change': relaxation.to_dict(oracle.problem),
            'text': f'fits {relaxation.text(oracle.problem)}',
        }
        for relaxation in found
    ]


class _Search:
    def __init__(
        self, oracle: Oracle, assumed: Collection[Assumption]
    ) -> None:
        self._oracle = oracle
        self._problem = oracle.problem
        self._assumed = assumed
        self._member_sets = {
            s.path: s for s in self._problem.topology.member_sets
        }
        self._plans = relaxed_plans.RelaxedPlans(oracle, assumed)
        self._helps = self._plans.helps
        self._best_partial_plan = self._plans.best_partial_plan
        self._minimums = minimums.MinimumSearch(
            oracle, self._plans, frozenset(assumed)
        )

    def find_single(self) -> list[Relaxation]:
        """Return relaxations of the conflict: soft policies, fewer members."""
        if self._plans.is_unsolved:
            return []
        return self._run_at_all_efforts(self._find_single)

    def find_combined(self) -> list[Relaxation]:
        """Return relaxations of several conflicts at once."""
        if self._plans.is_undecided:
            return []
        return self._run_at_all_efforts(self._find_combined)

    def _run_at_all_efforts(
        self, find: Callable[[], list[Relaxation]]
    ) -> list[Relaxation]:
        """Run a search at rising effort; return its last non-empty result.

        Each effort level tries every relaxation, so a slow query does not keep
        fast ones from being made.

        :param find: returns a list of relaxations that help
        """
        found: list[Relaxation] = []
        for effort in self._plans.efforts:
            self._plans.effort = effort
            found = find() or found
        return found

    def _find_single(self) -> list[Relaxation]:
        softened = [
            Relaxation(softened=(policy,))
            for policy in _policies(self._assumed)
        ]
        softened.sort(key=self._count_covered)
        lowered = self._find_lowered(self._assumed)
        return list(filter(self._helps, softened)) + lowered

    def _find_lowered(
        self, assumed: Collection[Assumption]
    ) -> list[Relaxation]:
        """Return relaxations that omit members of a conflict, fewest first."""
        paths = _paths(assumed)
        single: list[tuple[Minimum, ...]] = [
            (Minimum((path,)),) for path in paths[: tuning.MAX_MEMBER_SETS]
        ]
        by_class = self._by_class(self._with_same_class(paths))
        joint: list[tuple[Minimum, ...]] = [
            (each,) for each in by_class if len(each.paths) > 1
        ]
        if len(by_class) > 1:
            joint.append(self._joint(paths))
        # If only joint relaxations have helped so far, they come first.
        helpful = {
            key for (key, _), best in self._minimums.found.items() if best
        }
        is_single_first = not helpful or not helpful.isdisjoint(single)
        for key in single + joint if is_single_first else joint + single:
            self._minimums.omit_fewest(key)
        lowered = (self._minimums.found[key, ()] for key in single)
        found = [relaxation for relaxation in lowered if relaxation]
        fewest = min(
            (each.lost_members(self._problem) for each in found),
            default=math.inf,
        )
        for key in joint:
            relaxation = self._minimums.found[key, ()]
            if relaxation and relaxation.lost_members(self._problem) < fewest:
                found.append(relaxation)
        return sorted(found, key=self._minimums.loss)

    def _find_combined(self) -> list[Relaxation]:
        return (
            self._soften_all() + self._lower_all()
            or self._relax_all()
            or self._lower_everything()
        )

    def find_from_partial_plan(self) -> list[Relaxation]:
        """Return a relaxation from the best partial plan, if it helps."""
        plan = self._best_partial_plan
        if plan is None:
            return []
        placed = collections.Counter(
            member.member_set
            for member in self._problem.topology.members
            if member.path in plan.placement
        )
        lowered = self._joint(
            [
                path
                for path, member_set in self._member_sets.items()
                if placed[path] < member_set.min_count
            ]
        )
        min_counts = tuple(
            MinCount(
                path, min(placed[path], self._member_sets[path].min_count)
            )
            for minimum in lowered
            for path in minimum.paths
        )
        self._plans.use(plan)
        relaxation = Relaxation(
            (), min_counts, tuple(e for e in lowered if len(e.paths) > 1)
        )
        if not self._helps(relaxation):
            return []
        return [self._minimums.raise_minimums(relaxation)]

    def _soften_all(self) -> list[Relaxation]:
        """Return combinations of one soft policy per conflict, else all."""
        conflicts = self._conflicts(_policies)
        if not 0 < len(conflicts) <= _MAX_CHANGES:
            return []
        combinations = [
            Relaxation(softened=policies)
            for policies in itertools.islice(
                itertools.product(*conflicts), tuning.MAX_COMBINATIONS
            )
        ]
        union = tuple(itertools.chain(*conflicts))
        unions = [Relaxation(union)] if len(union) <= _MAX_CHANGES else []
        return list(filter(self._helps, combinations)) or list(
            filter(self._helps, unions)
        )

    def _lower_all(self) -> list[Relaxation]:
        """Return a relaxation that omits members of every conflict."""
        return self._relax_union(self._conflicts(_members))

    def _relax_all(self) -> list[Relaxation]:
        """Relax the policies of each conflict, or members if it has none."""
        return self._relax_union(
            self._conflicts(
                lambda assumed: _policies(assumed) or _members(assumed)
            )
        )

    def _lower_everything(self) -> list[Relaxation]:
        """Return a relaxation that omits members of any member sets.

        It helps where there are more conflicts than can be found.
        """
        paths = _paths(assumptions.of_problem(self._problem))
        if len(paths) <= _MAX_CHANGES:
            return []
        relaxation = self._minimums.omit_fewest(self._joint(paths))
        return [relaxation] if relaxation else []

    def _relax_union(
        self, conflicts: Collection[Collection[Assumption]]
    ) -> list[Relaxation]:
        """Return one relaxation of the assumptions of several conflicts."""
        assumed = list(itertools.chain(*conflicts))
        policies = tuple(_policies(assumed))
        lowered = self._joint(_paths(assumed), _MAX_CHANGES - len(policies))
        if not 0 < len(lowered) + len(policies) <= _MAX_CHANGES:
            return []
        relaxation = self._minimums.omit_fewest(lowered, policies)
        return [relaxation] if relaxation else []

    def _conflicts(
        self, select: Callable[[Collection[Assumption]], Sequence[_Selected]]
    ) -> list[Sequence[_Selected]]:
        """Select assumptions of every conflict that can be proved.

        :param select: selects some of the assumptions
        :returns: empty if nothing of one conflict is selected or there are too
            many conflicts
        """
        rest = assumptions.of_problem(self._problem)
        found: list[Sequence[_Selected]] = []
        while len(found) < tuning.MAX_CONFLICTS:
            if not self._oracle.is_infeasible(rest):
                self._plans.use(self._oracle.plan)
                self._best_partial_plan = (
                    self._best_partial_plan or self._oracle.best_partial_plan
                )
                return found
            assumed = minimal_conflict.locate(self._oracle, rest)
            self._minimums.conflicts |= frozenset(assumed)
            selected = select(assumed)
            if not selected:
                break
            found.append(selected)
            rest = [each for each in rest if each not in selected]
        return []

    def _by_class(self, paths: Iterable[Path]) -> list[Minimum]:
        """Return the minimums of member sets, by class."""
        groups = collections.defaultdict[str, list[Path]](list)
        for path in paths:
            groups[self._member_sets[path].spec['class']].append(path)
        return [
            Minimum(tuple(same), name if len(same) > 1 else None)
            for name, same in groups.items()
        ]

    def _joint(
        self, paths: Sequence[Path], max_changes: int = _MAX_CHANGES
    ) -> tuple[Minimum, ...]:
        """Return the minimums of member sets, as few changes.

        They are one by one if these are few, else by class or all together.
        """
        if not paths:
            return ()
        single = [Minimum((path,)) for path in paths]
        if len(single) <= max_changes:
            return tuple(single)
        by_class = self._by_class(self._with_same_class(paths))
        if len(by_class) <= max_changes:
            return tuple(by_class)
        return (Minimum(tuple(self._with_same_class(paths))),)

    def _with_same_class(self, paths: Sequence[Path]) -> Sequence[Path]:
        """Return many member sets with all others of their classes.

        An owner rather hears how many members of a class fit than how many of
        those in the conflict.
        """
        if len(paths) <= tuning.MAX_RAISED_SETS:
            return paths
        names = {self._member_sets[path].spec['class'] for path in paths}
        return [
            path
            for path, member_set in self._member_sets.items()
            if member_set.spec['class'] in names
            and assumptions.count_required(self._problem, member_set)
        ]

    def _count_covered(self, relaxation: Relaxation) -> int:
        """Return how many members the policies of a relaxation cover."""
        return len(
            assumptions.covered_paths(self._problem, relaxation.softened)
        )


def _policies(assumed: Collection[Assumption]) -> list[PolicyAssumption]:
    return [each for each in assumed if isinstance(each, PolicyAssumption)]


def _members(assumed: Collection[Assumption]) -> list[MemberAssumption]:
    return [each for each in assumed if isinstance(each, MemberAssumption)]


def _paths(assumed: Collection[Assumption]) -> list[Path]:
    return [each.path for each in _members(assumed)]
