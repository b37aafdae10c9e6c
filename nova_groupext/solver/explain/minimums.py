# SPDX-License-Identifier: Apache-2.0
"""Search for relaxations that lower minimums of member sets the least."""

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import itertools

from nova_groupext.solver import bounds
from nova_groupext.solver import tuning
from nova_groupext.solver.explain import relaxed_plans
from nova_groupext.solver.explain.corrections import MinCount
from nova_groupext.solver.explain.corrections import Minimum
from nova_groupext.solver.explain.corrections import Relaxation
from nova_groupext.solver.explain.feasibility_oracle import Oracle
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model.assumptions import Assumption
from nova_groupext.solver.model.assumptions import PolicyAssumption


class MinimumSearch:
    """Search for the highest minimums with which the problem has a plan.

    :ivar conflicts: assumptions of all known conflicts
    :ivar found: best relaxation by member sets and softened policies
    """

    def __init__(
        self,
        oracle: Oracle,
        plans: relaxed_plans.RelaxedPlans,
        conflicts: frozenset[Assumption],
    ) -> None:
        self.conflicts = conflicts
        self.found: dict[
            tuple[tuple[Minimum, ...], tuple[PolicyAssumption, ...]],
            Relaxation | None,
        ] = {}
        self._oracle = oracle
        self._problem = oracle.problem
        self._plans = plans
        self._min_counts = {
            member_set.path: member_set.min_count
            for member_set in oracle.problem.topology.member_sets
        }

    def omit_fewest(
        self,
        lowered: tuple[Minimum, ...],
        softened: tuple[PolicyAssumption, ...] = (),
    ) -> Relaxation | None:
        """Return the relaxation of minimums that omits fewest, or None.

        All minimums fall in proportion; with more effort, each then rises.

        :param softened: policies that become soft as well
        """
        required = [(each, self._required(each)) for each in lowered]
        total = sum(number for _, number in required)
        joint = tuple(each for each in lowered if len(each.paths) > 1)

        def lower(kept: int) -> Relaxation:
            min_counts = [
                min_count
                for each, number in required
                for min_count in self._divide(each, number * kept // total)
            ]
            return Relaxation(softened, tuple(min_counts), joint)

        best = self._bisect(lower, total)
        is_local = self._plans.effort == relaxed_plans.LOCAL
        if best is not None and not is_local and len(_separate(best)) > 1:
            best = self.raise_minimums(best)
        # A higher effort level may do worse, because its queries have another
        # order.
        key = lowered, softened
        candidates = [
            each for each in (self.found.get(key), best) if each is not None
        ]
        self.found[key] = min(candidates, key=self.loss, default=None)
        return self.found[key]

    def _required(self, minimum: Minimum) -> int:
        return sum(self._min_counts[path] for path in minimum.paths)

    def _divide(self, minimum: Minimum, kept: int) -> Iterator[MinCount]:
        """Divide a number of members among member sets, in proportion."""
        total = self._required(minimum)
        sizes = [self._min_counts[path] for path in minimum.paths]
        ends = [end * kept // total for end in itertools.accumulate(sizes)]
        for path, (start, end) in zip(
            minimum.paths, itertools.pairwise([0, *ends]), strict=True
        ):
            yield MinCount(path, end - start)

    def raise_minimums(self, relaxation: Relaxation) -> Relaxation:
        """Return a relaxation with the highest minimums, one after the other.

        Of many member sets, those that are one change rise together.
        """
        for minimum in _separate(relaxation):
            relaxation = self._raise_minimum(relaxation, minimum)
        return relaxation

    def _raise_minimum(
        self, relaxation: Relaxation, minimum: Minimum
    ) -> Relaxation:
        min_counts = dict(relaxation.min_counts)
        low = sum(min_counts[path] for path in minimum.paths)

        def raised(more: int) -> Relaxation:
            changed = min_counts | dict(self._divide(minimum, low + more))
            return dataclasses.replace(
                relaxation,
                min_counts=tuple(map(MinCount._make, changed.items())),
            )

        end = self._required(minimum) - low + 1
        return self._find_largest(raised, end, relaxation)

    def _bisect(
        self, make_relaxation: Callable[[int], Relaxation], end: int
    ) -> Relaxation | None:
        """Return the relaxation of the largest helpful number below ``end``.

        :param make_relaxation: returns the relaxation of a number from 0 on
        :returns: None if not even 0 helps
        """
        least = make_relaxation(0)
        if not self._plans.helps(least):
            return None
        return self._find_largest(make_relaxation, end, least)

    def _find_largest(
        self,
        make_relaxation: Callable[[int], Relaxation],
        end: int,
        best: Relaxation,
    ) -> Relaxation:
        """Do the same where ``best``, the relaxation of 0, helps."""
        if self._oracle.is_out_of_time():
            return best
        lower, upper = 0, self._bound(make_relaxation, end)
        # The largest number that bounds allow often helps.
        number = upper - 1
        while lower < number:
            relaxation = make_relaxation(number)
            if self._plans.helps(relaxation):
                lower, best = number, relaxation
            else:
                upper = number
            number = (lower + upper) // 2
        return best

    def _bound(
        self, make_relaxation: Callable[[int], Relaxation], end: int
    ) -> int:
        """Return a number from which on bounds exclude the relaxations.

        Only assumptions of known conflicts are checked, to save time.
        """
        lower, upper = 0, end
        while upper - lower > 1:
            middle = (lower + upper) // 2
            problem = make_relaxation(middle).apply(self._problem)
            problem = assumptions.restrict_to(problem, self.conflicts)
            if bounds.prove_infeasible(problem) is None:
                lower = middle
            else:
                upper = middle
        return upper

    def loss(self, relaxation: Relaxation) -> tuple[int, tuple[MinCount, ...]]:
        """Return a sort key by which less intrusive relaxations come first."""
        lost_members = relaxation.lost_members(self._problem)
        return lost_members, relaxation.min_counts


def _separate(relaxation: Relaxation) -> list[Minimum]:
    """Return the minimums of a relaxation that rise one after the other."""
    single = [Minimum((path,)) for path, _ in relaxation.min_counts]
    if len(single) <= tuning.MAX_RAISED_SETS:
        return single
    joint = {path for each in relaxation.joint for path in each.paths}
    single = [each for each in single if each.paths[0] not in joint]
    return [*relaxation.joint, *single]
