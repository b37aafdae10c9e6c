# SPDX-License-Identifier: Apache-2.0
"""Suspect subproblems: parts of a problem that may have no plan themselves.

Members that need much of their capacity are suspect, and so are policies that
may contradict one another. A small part is quickly proved infeasible, where
the whole problem takes long.
"""

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import itertools

from nova_groupext.solver import tuning
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import problems
from nova_groupext.solver.model.assumptions import Assumption
from nova_groupext.solver.model.assumptions import PolicyAssumption
from nova_groupext.solver.policies import base


def nested_suspects(
    problem: problems.Problem, shares: Mapping[Path, float]
) -> Iterator[frozenset[Assumption]]:
    """Yield parts of a problem, each of which contains the one before.

    :param shares: member set path -> share of its capacity that it needs
    :returns: parts without the whole
    """
    member_sets = sorted(shares, key=lambda path: (-shares[path], path))
    covered = _covered(problem)
    size = 1
    while size < len(member_sets):
        part = set(member_sets[:size])
        policies = (
            policy for policy, inside in covered.items() if part & inside
        )
        members = map(assumptions.MemberAssumption, part)
        yield frozenset[Assumption](members).union(policies)
        size = max(size + 1, int(size * tuning.SUSPECT_GROWTH))


def neighbourhoods(
    problem: problems.Problem, paths: Sequence[Path]
) -> list[frozenset[Assumption]]:
    """Return suspect member sets with all that share a policy with them.

    :param paths: paths of suspect member sets, the most suspect first
    :returns: assumptions for each path and their union, without repetitions
    """
    covered = _covered(problem)
    assumed = assumptions.of_problem(problem)
    subsets: list[frozenset[Assumption]] = []
    for path in paths:
        policies = {
            policy
            for policy, member_sets in covered.items()
            if path in member_sets
        }
        related = {path}.union(*(covered[policy] for policy in policies))
        members = set(map(assumptions.MemberAssumption, related))
        subsets.append(frozenset(policies | members.intersection(assumed)))
    subsets.append(frozenset[Assumption]().union(*subsets))
    return list(dict.fromkeys(subsets)) if paths else []


def conflicting_pairs(
    problem: problems.Problem,
) -> list[frozenset[Assumption]]:
    """Return pairs of policies that may conflict, with their members.

    Capacity does not count, and pairs that bounds decide are left out.
    """
    assumed = frozenset(assumptions.of_problem(problem))
    policies = assumptions.assumed_policies(problem, assumed)
    covered = _covered(problem)
    subsets = []
    for first, second in itertools.combinations(range(len(policies)), 2):
        pair = policies[first], policies[second]
        sides = policies[first].paths, policies[second].paths
        if not sides[0].isdisjoint(sides[1]) and _may_conflict(pair, sides):
            pair_assumed = {assumptions.of_policy(policy) for policy in pair}
            member_sets = set[Path]().union(
                *(covered[each] for each in pair_assumed)
            )
            members = assumed.intersection(
                map(assumptions.MemberAssumption, member_sets)
            )
            subsets.append(members | pair_assumed)
    return list(dict.fromkeys(subsets))


def _may_conflict(
    pair: tuple[base.Policy, base.Policy],
    sides: tuple[frozenset[Path], frozenset[Path]],
) -> bool:
    """Check whether two policies over common members may conflict."""
    if any(policy.is_exclusive for policy in pair):
        return True
    # Other policies may require several domains, and members in each.
    number = sum(not policy.is_monotone for policy in pair)
    if number == 1 and any(policy.binds_one_domain for policy in pair):
        # Bounds decide whether members of one domain can also be spread.
        is_first = not pair[0].is_monotone
        inner, outer = sides if is_first else reversed(sides)
        return not inner <= outer
    scopes = {policy.scope for policy in pair}
    return number == 2 and (sides[0] != sides[1] or len(scopes) > 1)


def order_by_suspicion(
    problem: problems.Problem, shares: Mapping[Path, float]
) -> list[Assumption]:
    """Return the assumptions of a problem, the most suspect first.

    A policy follows the first member set that it covers.

    :param shares: member set path -> share of its capacity that it needs
    """
    covered = _covered(problem)

    def sort_key(assumption: Assumption) -> tuple[float, int, Assumption]:
        if isinstance(assumption, assumptions.MemberAssumption):
            return -shares.get(assumption.path, 0), 0, assumption
        share = max(shares.get(path, 0) for path in covered[assumption])
        return -share, 1, assumption

    return sorted(assumptions.of_problem(problem), key=sort_key)


def _covered(problem: problems.Problem) -> dict[PolicyAssumption, set[Path]]:
    """Map policy assumptions to paths of the member sets they cover."""
    member_set_of = {m.path: m.member_set for m in problem.topology.members}
    covered: dict[PolicyAssumption, set[Path]] = {}
    for policy in assumptions.assumed_policies(
        problem, frozenset(assumptions.of_problem(problem))
    ):
        member_sets = covered.setdefault(assumptions.of_policy(policy), set())
        member_sets.update(map(member_set_of.__getitem__, policy.members))
    return covered
