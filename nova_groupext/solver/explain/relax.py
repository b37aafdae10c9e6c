# SPDX-License-Identifier: Apache-2.0
"""Search for relaxations with which the whole problem has a plan.

The least intrusive come first: a softened policy of the conflict leaves out no
member; then lower minimums, the smallest loss first. If no single relaxation
helps, the problem has several conflicts, and one relaxation of each is made.
"""

import collections
import dataclasses
import itertools
import math

from nova_groupext.solver import bounds
from nova_groupext.solver.explain import corrections
from nova_groupext.solver.explain import minimal_conflict
from nova_groupext.solver.explain import relaxed_plans
from nova_groupext.solver.model import assumptions

# Limits on further conflicts, and on combinations of softened policies.
_MAX_CONFLICTS = 8
_MAX_COMBINATIONS = 12

# Limit on member sets of a conflict that are relaxed one by one.
_MAX_MEMBER_SETS = 20


def find_corrections(oracle, conflict):
    """Return relaxations that are verified to help.

    :param oracle: feasibility_oracle.Oracle of the problem
    :param conflict: minimal_conflict.Conflict of the problem
    :returns: list of the answer's relaxations
    """
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
    def __init__(self, oracle, assumed):
        self._oracle = oracle
        self._problem = oracle.problem
        self._assumed = assumed
        self._member_sets = {
            s.path: s for s in self._problem.topology.member_sets
        }
        self._plans = relaxed_plans.RelaxedPlans(oracle, assumed)
        self._helps = self._plans.helps
        self._best_partial_plan = self._plans.best_partial_plan
        self._found = {}
        self._all_conflicts = frozenset(assumed)

    def find_single(self):
        """Return relaxations of the conflict: soft policies, fewer members."""
        if self._plans.is_unsolved:
            return []
        return self._run_at_all_efforts(self._find_single)

    def find_combined(self):
        """Return relaxations of several conflicts at once."""
        if self._plans.is_undecided:
            return []
        return self._run_at_all_efforts(self._find_combined)

    def _run_at_all_efforts(self, find):
        """Run a search at rising effort; return its last non-empty result.

        Each effort level tries every relaxation, so a slow query does not keep
        fast ones from being made.

        :param find: returns a list of relaxations that help
        """
        found = []
        for effort in self._plans.efforts:
            self._plans.effort = effort
            found = find() or found
        return found

    def _find_single(self):
        softened = [
            corrections.Relaxation(softened=(policy,))
            for policy in _policies(self._assumed)
        ]
        softened.sort(key=self._count_covered)
        lowered = self._find_lowered(self._assumed)
        return list(filter(self._helps, softened)) + lowered

    def _find_lowered(self, assumed):
        """Return relaxations that omit members of a conflict, fewest first."""
        paths = _paths(assumed)
        single = [
            ((path,), corrections.Relaxation)
            for path in paths[:_MAX_MEMBER_SETS]
        ]
        joint = [
            (same_class, corrections.ClassRelaxation)
            for same_class in self._by_class(assumed)
        ]
        if len(paths) > 1 and all(len(each) < len(paths) for each, _ in joint):
            joint.append((tuple(paths), corrections.Relaxation))
        # If only joint relaxations have helped so far, they come first.
        helpful = {key for (key, _), best in self._found.items() if best}
        has_single = any(key in helpful for key, _ in single)
        is_single_first = not helpful or has_single
        for key, kind in single + joint if is_single_first else joint + single:
            self._omit_fewest(key, kind)
        found = [self._found[key, ()] for key, _ in single]
        found = [relaxation for relaxation in found if relaxation]
        fewest = min(
            (each.lost_members(self._problem) for each in found),
            default=math.inf,
        )
        for key, _ in joint:
            relaxation = self._found[key, ()]
            if relaxation and relaxation.lost_members(self._problem) < fewest:
                found.append(relaxation)
        return sorted(found, key=self._loss)

    def _find_combined(self):
        return self._soften_all() + self._lower_all() or self._relax_all()

    def find_from_partial_plan(self):
        """Return a relaxation from the best partial plan, if it helps."""
        plan = self._best_partial_plan
        if plan is None:
            return []
        placed = collections.Counter(
            member.member_set
            for member in self._problem.topology.members
            if member.path in plan.placement
        )
        min_counts = tuple(
            (path, placed[path])
            for path, member_set in self._member_sets.items()
            if placed[path] < member_set.min_count
        )
        self._plans.use(plan)
        relaxation = corrections.Relaxation(min_counts=min_counts)
        if not self._helps(relaxation):
            return []
        return [self._raise_minimums(relaxation)]

    def _soften_all(self):
        """Return combinations of one soft policy per conflict, else all."""
        conflicts = self._conflicts(_policies)
        if not conflicts:
            return []
        combinations = [
            corrections.Relaxation(softened=policies)
            for policies in itertools.islice(
                itertools.product(*conflicts), _MAX_COMBINATIONS
            )
        ]
        union = corrections.Relaxation(
            softened=tuple(itertools.chain(*conflicts))
        )
        return list(filter(self._helps, combinations)) or list(
            filter(self._helps, [union])
        )

    def _lower_all(self):
        """Return a relaxation that omits members of every conflict."""
        return self._relax_union(self._conflicts(_members))

    def _relax_all(self):
        """Relax the policies of each conflict, or members if it has none."""
        return self._relax_union(
            self._conflicts(
                lambda assumed: _policies(assumed) or _members(assumed)
            )
        )

    def _relax_union(self, conflicts):
        """Return one relaxation of the assumptions of several conflicts."""
        assumed = list(itertools.chain(*conflicts))
        relaxation = assumed and self._omit_fewest(
            tuple(_paths(assumed)), softened=tuple(_policies(assumed))
        )
        return [relaxation] if relaxation else []

    def _conflicts(self, select):
        """Select assumptions of every conflict that can be proved.

        :param select: selects some of a list of assumptions
        :returns: list of lists of assumptions; empty if nothing of one
            conflict is selected or there are too many conflicts
        """
        rest = assumptions.of_problem(self._problem)
        found = []
        while len(found) < _MAX_CONFLICTS:
            if not self._oracle.is_infeasible(rest):
                self._plans.use(self._oracle.plan)
                self._best_partial_plan = (
                    self._best_partial_plan or self._oracle.best_partial_plan
                )
                return found
            assumed = minimal_conflict.locate(self._oracle, rest)
            self._all_conflicts = self._all_conflicts.union(assumed)
            selected = select(assumed)
            if not selected:
                break
            found.append(selected)
            rest = [each for each in rest if each not in selected]
        return []

    # -- minimums ----------------------------------------------------------

    def _omit_fewest(self, paths, kind=corrections.Relaxation, softened=()):
        """Return the relaxation of member sets that omits fewest, or None.

        All minimums fall in proportion; with more effort, each then rises.

        :param softened: policy assumptions that become soft as well
        """
        required = [
            (path, self._member_sets[path].min_count) for path in paths
        ]
        total = sum(number for _, number in required)

        def lower(kept):
            return kind(
                softened,
                tuple((path, n * kept // total) for path, n in required),
            )

        best = self._bisect(lower, total)
        is_local = self._plans.effort == relaxed_plans.LOCAL
        if best is not None and len(paths) > 1 and not is_local:
            best = self._raise_minimums(best)
        # A higher effort level may do worse, because its queries have another
        # order.
        key = paths, softened
        candidates = [
            each for each in (self._found.get(key), best) if each is not None
        ]
        self._found[key] = min(candidates, key=self._loss, default=None)
        return self._found[key]

    def _raise_minimums(self, relaxation):
        """Return a relaxation with the highest minimums, set by set."""
        for index, (path, low) in enumerate(relaxation.min_counts):
            before = relaxation.min_counts[:index]
            after = relaxation.min_counts[index + 1 :]

            def raised(
                more, parts=(path, low, before, after), base=relaxation
            ):
                path, low, before, after = parts
                min_counts = (*before, (path, low + more), *after)
                return dataclasses.replace(base, min_counts=min_counts)

            number = self._member_sets[path].min_count
            relaxation = self._bisect(raised, number - low + 1, relaxation)
        return relaxation

    def _bisect(self, make_relaxation, end, best=None):
        """Return the relaxation of the largest helpful number below ``end``.

        :param make_relaxation: returns the relaxation of a number from 0 on
        :param best: relaxation of 0 if it helps
        :returns: None if not even 0 helps
        """
        if best is None:
            if not self._helps(make_relaxation(0)):
                return None
            best = make_relaxation(0)
        if self._oracle.is_out_of_time():
            return best
        lower, upper = 0, self._bound(make_relaxation, end)
        # The largest number that bounds allow often helps.
        number = upper - 1
        while lower < number:
            relaxation = make_relaxation(number)
            if self._helps(relaxation):
                lower, best = number, relaxation
            else:
                upper = number
            number = (lower + upper) // 2
        return best

    def _bound(self, make_relaxation, end):
        """Return a number from which on bounds exclude the relaxations.

        Only assumptions of known conflicts are checked, to save time.
        """
        lower, upper = 0, end
        while upper - lower > 1:
            middle = (lower + upper) // 2
            problem = make_relaxation(middle).apply(self._problem)
            problem = assumptions.restrict_to(problem, self._all_conflicts)
            if bounds.prove_infeasible(problem, self._oracle.arrays) is None:
                lower = middle
            else:
                upper = middle
        return upper

    # -- order -------------------------------------------------------------

    def _by_class(self, assumed):
        """Return paths of the conflict's member sets, by shared class."""
        groups = collections.defaultdict(list)
        for path in _paths(assumed):
            groups[self._member_sets[path].spec['class']].append(path)
        return [tuple(paths) for paths in groups.values() if len(paths) > 1]

    def _count_covered(self, relaxation):
        """Return how many members the policies of a relaxation cover."""
        policies = assumptions.assumed_policies(
            self._problem, relaxation.softened
        )
        sides = (side for policy in policies for side in policy.sides)
        return len(set(itertools.chain(*sides)))

    def _loss(self, relaxation):
        lost_members = relaxation.lost_members(self._problem)
        return lost_members, relaxation.min_counts


def _policies(assumed):
    return [
        each
        for each in assumed
        if isinstance(each, assumptions.PolicyAssumption)
    ]


def _members(assumed):
    return [
        each
        for each in assumed
        if isinstance(each, assumptions.MemberAssumption)
    ]


def _paths(assumed):
    return [each.path for each in _members(assumed)]
