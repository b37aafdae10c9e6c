# SPDX-License-Identifier: Apache-2.0
"""A brute-force oracle: tries every assignment of a small problem.

A branch is cut only where nothing below it can matter: capacity already
exceeded, a count already missed, a violation of a strict rule that further
members cannot end, or fewer members placed than in a plan already found.
"""

from collections.abc import Iterator
import copy
from typing import NamedTuple

from tests.property import definitions

# More members never end violations of these; of spread and survive they can.
IRREVERSIBLE = frozenset(
    ('affinity', 'anti-affinity', 'exclusive', 'network-proximity')
)


class Optimum(NamedTuple):
    """The best objective, and the smallest plan per set of placed members.

    The design does not say how an unplaced member compares with a host, so
    plans are compared among those that place the same members.
    """

    placed: int
    moved: int
    soft: float
    preference: float
    smallest: dict[frozenset[str], dict[str, str]]


class Option(NamedTuple):
    """One way to place a member: on a host, taking a request there."""

    host: str
    request: dict


def solve(problem: definitions.Problem) -> Optimum | None:
    """The optimum of a problem, or None if no plan is feasible."""
    return _Search(problem).run()


def excludes(problem: definitions.Problem, conflict: list[dict]) -> bool:
    """Return whether a conflict's strict policies and members leave no plan.

    What the conflict does not name counts for nothing: other policies are
    soft, other members may be left out.
    """
    policies = [item for item in conflict if item['kind'] == 'policy']
    required = [item for item in conflict if item['kind'] == 'members']
    reduced = copy.deepcopy(problem)
    for rule in definitions.rules(reduced):
        kind, scope = rule.policy['type'], rule.policy['scope']
        if not any(
            item['policy'] == {'type': kind, 'scope': scope}
            and _is_at(rule.at, item)
            for item in policies
        ):
            rule.policy['strict'] = False
    for at, node in definitions.nodes(reduced):
        for name, spec in node.get('members', {}).items():
            if not any(
                item.get('members', name) == name and _is_at(at, item)
                for item in required
            ):
                spec['min_count'] = 0
    return solve(reduced) is None


def _is_at(at: str, item: dict) -> bool:
    """Return whether an item of a conflict names what is at a path."""
    if not item.get('subtree'):
        return at == item['at']
    return not item['at'] or f'{at}/'.startswith(f'{item["at"]}/')


def relaxed(problem: definitions.Problem, change: dict) -> dict:
    """The problem with the change that a relaxation proposes."""
    changed = copy.deepcopy(problem)
    for part in change.get('together', [change]):
        if 'policy' in part:
            _change_policies(changed, part)
        else:
            _change_counts(changed, part)
    return changed


def _change_policies(problem: definitions.Problem, change: dict) -> None:
    key = (change['at'], change['policy'], change['scope'])
    for rule in definitions.rules(problem):
        policy = rule.policy
        if policy.get('strict', True) and key == (
            rule.at,
            policy['type'],
            policy['scope'],
        ):
            policy['strict'] = change['strict']


def _change_counts(problem: definitions.Problem, change: dict) -> None:
    """Change one member set, or several."""
    if 'min_counts' in change:
        counts = dict(change['min_counts'])
    else:
        path = definitions.join(change['at'], change['members'])
        counts = {path: change['min_count']}
    for at, node in definitions.nodes(problem):
        for name, spec in node.get('members', {}).items():
            number = counts.pop(definitions.join(at, name), None)
            if number is not None:
                if spec['class'] != change.get('class', spec['class']):
                    raise ValueError(f'{name} is of another class')
                spec['min_count'] = number
    if counts:
        raise ValueError(f'no such members: {counts}')


class _Search:
    def __init__(self, problem: definitions.Problem) -> None:
        self.problem = problem
        self.cloud = definitions.Cloud(problem)
        self.members = definitions.members(problem)
        rules = definitions.rules(problem)
        self.strict = [rule for rule in rules if rule.strict]
        self.soft = [rule for rule in rules if not rule.strict]
        self.irreversible = {
            member.path: [
                rule
                for rule in self.strict
                if rule.policy['type'] in IRREVERSIBLE
                and (
                    member.path in rule.covered
                    or rule.policy['type'] == 'exclusive'
                )
            ]
            for member in self.members
        }
        self.options = [self._options(member) for member in self.members]
        self.free = {
            host['id']: dict(host['free']) for host in problem['hosts']
        }
        self.placement = {}
        self.best = None

    def _options(self, member: definitions.Member) -> list[Option]:
        pinned = self.problem.get('pinned', {})
        if member.path in pinned:
            return [Option(pinned[member.path], {})]
        return [
            Option(host, request)
            for host in self.cloud.hosts
            for request in definitions.options(self.problem, member, host)
        ]

    def run(self) -> Optimum | None:
        self._descend(0)
        return self.best

    def _descend(self, depth: int) -> None:
        remaining = len(self.members) - depth
        if self.best and len(self.placement) + remaining < self.best.placed:
            return
        if not remaining:
            self._compare()
            return
        member = self.members[depth]
        for option in self._fitting(depth):
            self._consume(option, -1)
            self.placement[member.path] = option.host
            if self._meets_all(self.irreversible[member.path]):
                self._descend(depth + 1)
            del self.placement[member.path]
            self._consume(option, 1)
        if self._may_omit(depth):
            self._descend(depth + 1)

    def _fitting(self, depth: int) -> Iterator[Option]:
        for option in self.options[depth]:
            free = self.free[option.host]
            if all(
                amount <= free.get(name, 0)
                for name, amount in option.request.items()
            ):
                yield option

    def _consume(self, option: Option, sign: int) -> None:
        free = self.free[option.host]
        for name, amount in option.request.items():
            free[name] = free.get(name, 0) + sign * amount

    def _may_omit(self, depth: int) -> bool:
        member = self.members[depth]
        if member.path in self.problem.get('pinned', {}):
            return False
        omitted = sum(
            earlier.member_set == member.member_set
            and earlier.path not in self.placement
            for earlier in self.members[:depth]
        )
        return member.count - omitted - 1 >= member.min_count

    def _meets_all(self, rules: list[definitions.Rule]) -> bool:
        return all(
            definitions.meets(self.cloud, rule, self.placement)
            for rule in rules
        )

    def _compare(self) -> None:
        """Keep the assignment if it is feasible and the best so far."""
        if not self._meets_all(self.strict):
            return
        soft = sum(
            definitions.cost(self.cloud, rule, self.placement)
            for rule in self.soft
        )
        preference = definitions.preference(
            self.problem, self.members, self.placement
        )
        moved = 0
        if self.problem.get('objective') == 'changes':
            moved = definitions.changes(self.problem, self.placement) or 0
        placed = len(self.placement)
        found = Optimum(placed, moved, soft, preference, {})
        if self.best is None or _rank(found) > _rank(self.best):
            self.best = found
        if _rank(found) == _rank(self.best):
            self._keep_smallest()

    def _keep_smallest(self) -> None:
        # Members come in path order, so values() is the vector to compare.
        plan = dict(self.placement)
        smallest = self.best.smallest.setdefault(frozenset(plan), plan)
        if list(plan.values()) < list(smallest.values()):
            self.best.smallest[frozenset(plan)] = plan


def _rank(optimum: Optimum) -> tuple[float, ...]:
    # Rounded, so that the order of a float sum cannot make plans unequal.
    return (
        optimum.placed,
        -optimum.moved,
        round(-optimum.soft, 7),
        round(optimum.preference, 7),
    )
