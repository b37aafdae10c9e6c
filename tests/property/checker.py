# SPDX-License-Identifier: Apache-2.0
"""A checker of one answer of the planner against its problem.

The checker says whether an answer is *right as far as it goes*: well formed,
feasible, and of the stated cost.  The oracle decides whether a better plan
exists.
"""

import collections
import json
import math

from tests.property import definitions

TOLERANCE = 1e-6
STATUSES = ('placed', 'refused', 'undecided')


def check(problem: definitions.Problem, answer: dict) -> list[str]:
    """Return the faults of an answer, [] if it has none."""
    if json.loads(json.dumps(answer)) != answer:
        return ['the answer does not survive being written as JSON']
    status = answer.get('status')
    if status not in STATUSES:
        return [f'unknown status {status!r}']
    if status == 'placed':
        return _Plan(problem, answer).complaints()
    return _check_unplaced_answer(answer)


def _check_unplaced_answer(answer: dict) -> list[str]:
    found = []
    if answer.get('placement') != {}:
        found.append('an answer without a plan has a placement')
    if answer['status'] == 'undecided':
        return found
    conflict = answer.get('conflict')
    if not conflict or not isinstance(conflict, list):
        found.append('a refusal names no conflict')
    elif not all({'kind', 'at', 'code'} <= set(item) for item in conflict):
        found.append('a conflict lacks its kind, place or code')
    if not isinstance(answer.get('minimal'), bool):
        found.append('a refusal does not say whether it is minimal')
    if not isinstance(answer.get('relaxations'), list):
        found.append('a refusal lacks its relaxations')
    return found


class _Plan:
    """The checks of an answer ``placed``."""

    def __init__(self, problem: definitions.Problem, answer: dict) -> None:
        self.problem = problem
        self.answer = answer
        self.cloud = definitions.Cloud(problem)
        self.members = definitions.members(problem)
        self.rules = definitions.rules(problem)
        self.pinned = problem.get('pinned', {})
        self.found = []

    def complaints(self) -> list[str]:
        self._check_shape()
        if not self.found:
            self._check_members()
        if not self.found:
            self._check_capacity()
            self._check_counts()
            self._check_strict()
            self._check_cost()
            self._check_violations()
        return self.found

    def _expect(self, is_right: bool, error: str) -> None:
        if not is_right:
            self.found.append(error)

    def _check_shape(self) -> None:
        for key, kind in (
            ('placement', dict),
            ('alternative', dict),
            ('unplaced', list),
            ('cost', dict),
            ('violations', list),
            ('conflict', list),
            ('minimal', bool),
            ('relaxations', list),
            ('stats', dict),
        ):
            value = self.answer.get(key)
            self._expect(isinstance(value, kind), f'{key} is {value!r}')
        if self.found:
            return
        for key in ('soft', 'bound', 'preference'):
            self._expect(_is_number(self.cost(key)), f'cost.{key} is odd')
        self._expect(self.answer['conflict'] == [], 'a plan has a conflict')

    def cost(self, key: str) -> float:
        return self.answer['cost'].get(key)

    @property
    def placement(self) -> dict[str, str]:
        return self.answer['placement']

    def _check_members(self) -> None:
        """Check that members are placed on known hosts, or are unplaced."""
        paths = {member.path for member in self.members}
        unplaced = self.answer['unplaced']
        self._expect(
            sorted([*self.placement, *unplaced]) == sorted(paths),
            'placement and unplaced do not add up to the members',
        )
        for path, host in self.placement.items():
            self._expect(host in self.cloud.hosts, f'{path}: no host {host}')
        for path, host in self.pinned.items():
            self._expect(
                self.placement.get(path) == host, f'{path} left its pin'
            )

    def _check_capacity(self) -> None:
        used = collections.Counter()
        for member in self.members:
            host = self.placement.get(member.path)
            if host is None or member.path in self.pinned:
                self._expect_no_alternative(member)
                continue
            for name, amount in self._request(member, host).items():
                used[host, name] += amount
        for (host, name), amount in used.items():
            free = self.cloud.hosts[host]['free'].get(name, 0)
            self._expect(
                amount <= free, f'{host}: {amount} {name} of {free} free'
            )

    def _expect_no_alternative(self, member: definitions.Member) -> None:
        self._expect(
            member.path not in self.answer['alternative'],
            f'{member.path} consumes nothing, yet takes an alternative',
        )

    def _request(self, member: definitions.Member, host: str) -> dict:
        """Return the resources that an unpinned member consumes."""
        options = definitions.options(self.problem, member, host)
        self._expect(bool(options), f'{member.path} may not be on {host}')
        spec = self.problem['classes'][member.class_name]
        index = self.answer['alternative'].get(member.path)
        if host not in spec.get('alternatives', {}):
            self._expect(index is None, f'{member.path}: no alternatives')
            return options[0] if options else {}
        is_right = type(index) is int and 0 <= index < len(options)
        self._expect(is_right, f'{member.path}: no alternative {index}')
        return options[index] if is_right else {}

    def _check_counts(self) -> None:
        placed = collections.Counter(
            member.member_set
            for member in self.members
            if member.path in self.placement
        )
        for member in self.members:
            self._expect(
                placed[member.member_set] >= member.min_count,
                f'{member.member_set}: fewer than {member.min_count} placed',
            )

    def _check_strict(self) -> None:
        for rule in self.rules:
            if rule.strict:
                self._expect(
                    definitions.meets(self.cloud, rule, self.placement),
                    f'{rule.at!r} breaks {rule.policy}',
                )

    def _check_cost(self) -> None:
        soft = sum(cost for _, cost in self._soft_costs())
        preference = definitions.preference(
            self.problem, self.members, self.placement
        )
        self._expect(close(self.cost('soft'), soft), f'soft is {soft}')
        self._expect(
            close(self.cost('preference'), preference),
            f'preference is {preference}',
        )
        changes = definitions.changes(self.problem, self.placement)
        self._expect(self.cost('changes') == changes, f'changes is {changes}')
        self._expect(
            self.cost('bound') <= self.cost('soft') + TOLERANCE,
            'the bound is above the cost',
        )

    def _soft_costs(self) -> list[tuple[definitions.Rule, float]]:
        return [
            (rule, definitions.cost(self.cloud, rule, self.placement))
            for rule in self.rules
            if not rule.strict
        ]

    def _check_violations(self) -> None:
        expected = sorted(
            (rule.at, rule.policy['type'], rule.policy['scope'], cost)
            for rule, cost in self._soft_costs()
            if cost > TOLERANCE
        )
        reported = sorted(
            (
                item['at'],
                item['policy']['type'],
                item['policy']['scope'],
                item['cost'],
            )
            for item in self.answer['violations']
        )
        is_right = len(reported) == len(expected) and all(
            one[:3] == other[:3] and close(one[3], other[3])
            for one, other in zip(reported, expected, strict=True)
        )
        self._expect(is_right, f'violations are {expected}, told {reported}')


def close(one: float, other: float) -> bool:
    """Return whether two costs are equal up to rounding."""
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=TOLERANCE)


def _is_number(value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
    )
