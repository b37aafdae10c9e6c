# SPDX-License-Identifier: Apache-2.0
"""Declared facts of the policy types, compared with their meaning.

The evidence comes from the violations of random placements. A fact that is
declared and wrong, or true and not declared, fails here.
"""

import collections
import itertools
import random
from unittest import mock

from oslotest import base

from nova_groupext.solver import bounds
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import violations
from nova_groupext.solver.moves import move_check
from nova_groupext.solver.policies import base as policies
from nova_groupext.solver.policies import registry
from tests.unit.solver import builders

CASES = 400

MEMBERS = tuple('abcdef')
OTHERS = ('x', 'y')
# Three racks in two zones, which cross.
HOSTS = [
    builders.host('h1', 'r1', 'z1'),
    builders.host('h2', 'r1', 'z1'),
    builders.host('h3', 'r2', 'z1', foreign=True),
    builders.host('h4', 'r2', 'z2'),
    builders.host('h5', 'r3', 'z2'),
]
NAMES = [host['id'] for host in HOSTS]
# Other names for the same cloud.
RENAMED = {
    'h1': builders.host('k5', 'q3', 'y2'),
    'h2': builders.host('k4', 'q3', 'y2'),
    'h3': builders.host('k3', 'q1', 'y2', foreign=True),
    'h4': builders.host('k2', 'q1', 'y1'),
    'h5': builders.host('k1', 'q2', 'y1'),
}
PARAMETERS = {
    'max_per_domain': (1, 2),
    'max_skew': (0, 1),
    'min_domains': (1, 2, 3),
    'failures': (0, 1, 2),
    'min_members': (1, 2, 3),
    'bandwidth': (1, 2),
}
TREE = builders.group(
    **{name: {'class': 'one'} for name in (*MEMBERS, *OTHERS)}
)
PROBLEM = builders.problem(HOSTS, TREE)
OTHER_PROBLEM = builders.problem(list(RENAMED.values()), TREE)
NO_FOREIGN = builders.problem([{**h, 'foreign': False} for h in HOSTS], TREE)


def draw_policy(kind, rng):
    """A policy of a type, on a group or a relationship."""
    sides = (MEMBERS,)
    if rng.random() < 0.5:
        sides = (MEMBERS[:2], MEMBERS[2:4], MEMBERS[4:])
    if not kind.is_pairwise:
        sides = (sum(sides, ()),)
    parameters = {
        name: rng.choice(PARAMETERS[name]) for name in kind.parameters()
    }
    scope = rng.choice(builders.LEVELS)
    return kind(at='', scope=scope, sides=sides, where='', **parameters)


def draw_placement(rng, paths=MEMBERS, at_least=0):
    placed = rng.sample(paths, rng.randint(at_least, len(paths)))
    return {path: rng.choice(NAMES) for path in placed}


def violation(policy, placement, problem=PROBLEM):
    return violations.amount(problem, policy, placement)


def is_monotone(policy, rng):
    placement = draw_placement(rng)
    more = {rng.choice(MEMBERS): rng.choice(NAMES), **placement}
    return violation(policy, placement) <= violation(policy, more)


def is_symmetric(policy, rng):
    placement = draw_placement(rng)
    one, other = rng.sample(rng.choice(policy.sides), 2)
    names = {one: other, other: one}
    swapped = {names.get(p, p): host for p, host in placement.items()}
    return violation(policy, placement) == violation(policy, swapped)


def is_pairwise(policy, rng):
    placement = draw_placement(rng)
    pairs = [
        dict(pair) for pair in itertools.combinations(placement.items(), 2)
    ]
    total = sum(violation(policy, pair) for pair in pairs)
    return total == violation(policy, placement)


def is_unaware_of_others(policy, rng):
    placement = draw_placement(rng)
    others = draw_placement(rng, OTHERS)
    alone = violation(policy, placement, NO_FOREIGN)
    return alone == violation(policy, {**placement, **others})


def binds_one_domain(policy, rng):
    placement = draw_placement(rng)
    parts = [side for side in policy.sides if placement.keys() & {*side}]
    domains = violations.count(PROBLEM, policy, placement)
    if None in domains:
        # A strict policy refuses hosts without a domain in any case.
        return True
    is_met = len(domains) < 2 or len(parts) < min(2, len(policy.sides))
    return is_met == (violation(policy, placement) == 0)


def is_worst_in_union(policy, rng):
    placement = draw_placement(rng, at_least=2)
    possible = {}
    for path, host in placement.items():
        # The union ignores levels other than the scope.
        other = rng.choice(NAMES)
        domains = {PROBLEM.domain(h, policy.scope) for h in (host, other)}
        possible[path] = {host, other} if len(domains) > 1 else {host}
    union, worst = (
        _worst_violation(policy, possible, is_union)
        for is_union in (True, False)
    )
    return bool(union) == bool(worst) and union >= worst


def _worst_violation(policy, possible, is_union):
    with mock.patch.object(type(policy), 'is_worst_in_union', is_union):
        return move_check.worst_violation(PROBLEM, policy, possible)


def is_seen_as_counts(policy, rng):
    """Placements with the same counts by domain have the same violation."""
    placement = draw_placement(rng)
    by_domain = collections.defaultdict(list)
    for host in NAMES:
        by_domain[PROBLEM.domain(host, policy.scope)].append(host)
    moved = {
        path: rng.choice(by_domain[PROBLEM.domain(host, policy.scope)])
        for path, host in placement.items()
    }
    shuffled = dict(
        zip(moved, rng.sample([*moved.values()], len(moved)), strict=True)
    )
    return violation(policy, placement) == violation(policy, shuffled)


def is_seen_as_domains(policy, rng):
    """Other names of hosts and domains have the same violation."""
    placement = draw_placement(rng)
    renamed = {path: RENAMED[host]['id'] for path, host in placement.items()}
    return violation(policy, placement) == violation(
        policy, renamed, OTHER_PROBLEM
    )


def holds(kind, evidence):
    """Check whether a statement about a type is true in all cases."""
    rng = random.Random(kind.type)
    return all(evidence(draw_policy(kind, rng), rng) for _ in range(CASES))


def find_sees(kind):
    if not holds(kind, is_seen_as_domains):
        return policies.HOSTS
    is_counts = holds(kind, is_seen_as_counts)
    return policies.COUNTS if is_counts else policies.DOMAINS


FACTS = {
    'is_monotone': lambda kind: holds(kind, is_monotone),
    'is_symmetric': lambda kind: holds(kind, is_symmetric),
    'is_pairwise': lambda kind: holds(kind, is_pairwise),
    'is_exclusive': lambda kind: not holds(kind, is_unaware_of_others),
    'binds_one_domain': lambda kind: holds(kind, binds_one_domain),
    'is_worst_in_union': lambda kind: holds(kind, is_worst_in_union),
    'sees': find_sees,
}
# Wrong declarations of each fact, by the right one.
WRONG = {
    True: [False],
    False: [True],
    **{
        sees: sorted(
            {policies.COUNTS, policies.DOMAINS, policies.HOSTS} - {sees}
        )
        for sees in (policies.COUNTS, policies.DOMAINS, policies.HOSTS)
    },
}


def find_wrong(kind):
    """Return the facts that a type declares and that are not so."""
    return [
        name
        for name, find in FACTS.items()
        if find(kind) != getattr(kind, name)
    ]


class TestFacts(base.BaseTestCase):
    def test_declared_facts_are_true_and_others_are_not(self):
        for kind in registry.types().values():
            self.assertEqual([], find_wrong(kind), kind.type)

    def test_every_fact_turned_round_is_found(self):
        for kind in registry.types().values():
            for name, find in FACTS.items():
                for wrong in WRONG[getattr(kind, name)]:
                    with mock.patch.object(kind, name, wrong):
                        try:
                            found = find(kind) != wrong
                        except AttributeError:
                            # The policy may not see others any more.
                            found = True
                    self.assertTrue(found, (kind.type, name, wrong))

    def test_every_fact_is_compared(self):
        self.assertEqual(
            {'is_bound_by_required'},
            {*policies.Policy.list_facts()} - FACTS.keys(),
        )


class TestBoundByRequired(base.BaseTestCase):
    """The proof of a bound names the members if it counts them."""

    def prove(self, policy, **members):
        tree = builders.group([policy], **members)
        problem = builders.problem(builders.racks(a=(1,), b=(8,)), tree)
        return {type(each) for each in bounds.prove_infeasible(problem)}

    def test_spread_counts_required_members(self):
        self.assertEqual(
            {assumptions.PolicyAssumption, assumptions.MemberAssumption},
            self.prove(builders.policy('spread', 'rack'), w=5),
        )

    def test_survival_counts_no_required_members(self):
        self.assertEqual(
            {assumptions.PolicyAssumption},
            self.prove(builders.policy('survive', 'rack', min_members=2), w=5),
        )

    def test_turned_round_is_found(self):
        for kind, policy in (
            ('spread', builders.policy('spread', 'rack')),
            ('survive', builders.policy('survive', 'rack', min_members=2)),
        ):
            cls = registry.get(kind)
            before = self.prove(policy, w=5)
            wrong = not cls.is_bound_by_required
            with mock.patch.object(cls, 'is_bound_by_required', wrong):
                self.assertNotEqual(before, self.prove(policy, w=5))
