# SPDX-License-Identifier: Apache-2.0
"""Reference semantics of problem files: the design's definitions.

This module, the oracle and the checker share no line with the planner, so
that one misreading cannot hide in both.  Plainness comes before speed.

Every function takes the problem as it stands in the file.  A *placement* is
a mapping ``member path -> host id`` of the members that are placed.
"""

import collections
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import itertools
from typing import NamedTuple

Problem = dict
Placement = Mapping[str, str]


class Member(NamedTuple):
    """One server that may be placed."""

    path: str
    member_set: str
    class_name: str
    count: int
    min_count: int


class Rule(NamedTuple):
    """One policy and the sets of member paths it covers.

    ``sides`` has one set for a policy on a group or a member, and one for
    each part of a relationship.
    """

    at: str
    policy: dict
    sides: tuple[frozenset[str], ...]
    bandwidth: float

    @property
    def strict(self) -> bool:
        return self.policy.get('strict', True)

    @property
    def weight(self) -> float:
        return self.policy.get('weight', 1)

    @property
    def covered(self) -> frozenset[str]:
        return frozenset().union(*self.sides)


def nodes(problem: Problem) -> Iterator[tuple[str, dict]]:
    """The top-level group, path '', and every subgroup below it."""
    pending = [('', problem['topology'])]
    while pending:
        at, node = pending.pop()
        yield at, node
        for name, child in node.get('groups', {}).items():
            pending.append((join(at, name), child))


def join(at: str, name: str) -> str:
    return f'{at}/{name}' if at else name


def members(problem: Problem) -> list[Member]:
    """Every member in path order, counted ones by number."""
    found = {}
    for at, node in nodes(problem):
        for name, spec in node.get('members', {}).items():
            member_set = join(at, name)
            count = spec.get('count', 1)
            min_count = spec.get('min_count', count)
            for index in range(count):
                path = (
                    f'{member_set}-{index}' if 'count' in spec else member_set
                )
                member = Member(
                    path, member_set, spec['class'], count, min_count
                )
                found[tuple(member_set.split('/')), index] = member
    return [found[key] for key in sorted(found)]


def rules(problem: Problem) -> list[Rule]:
    """Every policy of the topology with the members that it covers."""
    found = []
    for at, node in nodes(problem):
        found.extend(
            Rule(at, policy, (matching(problem, at),), _bandwidth(policy))
            for policy in node.get('policies', [])
        )
        for name, spec in node.get('members', {}).items():
            member_set = join(at, name)
            found.extend(
                Rule(
                    member_set,
                    policy,
                    (matching(problem, member_set),),
                    _bandwidth(policy),
                )
                for policy in spec.get('policies', [])
            )
        for relation in node.get('relationships', []):
            where = join(at, relation['name'])
            sides = tuple(
                outside(problem, part)
                if isinstance(part, dict)
                else matching(problem, join(at, part))
                for part in relation['between']
            )
            found.extend(
                Rule(where, policy, sides, _bandwidth(relation))
                for policy in relation['policies']
            )
    return found


def _bandwidth(source: dict) -> float:
    return source.get('bandwidth', 1)


def matching(problem: Problem, path: str) -> frozenset[str]:
    """Members at or below a path: a group, a member set or a single member."""
    return frozenset(
        member.path
        for member in members(problem)
        if path in ('', member.path, member.member_set)
        or member.path.startswith(f'{path}/')
    )


def outside(problem: Problem, part: dict) -> frozenset[str]:
    """Placed members of another group that a part stands for."""
    target = part['group']
    if 'path' in part:
        target = join(target, part['path'])
    outsiders = problem.get('outsiders', {})
    if target in outsiders:
        # Names are unique: a member has this one, and no member set.
        return frozenset({f'/{target}'})
    return frozenset(
        f'/{path}'
        for path in outsiders
        if path.startswith(f'{target}/')
        or (
            path.startswith(f'{target}-')
            and path.removeprefix(f'{target}-').isdigit()
        )
    )


class Cloud:
    """The hosts of a problem and the domains they stand in.

    ``outsiders`` are members of other groups, by paths that no member has.
    """

    def __init__(self, problem: Problem) -> None:
        self.levels = problem['levels']
        self.outsiders = {
            f'/{path}': host
            for path, host in problem.get('outsiders', {}).items()
        }
        self.hosts = {host['id']: host for host in problem['hosts']}

    def domain(self, host: str, level: str) -> str | None:
        """The host's domain at a level, None where it has none."""
        if level == self.levels[0]:
            return host
        return self.hosts[host].get('domains', {}).get(level)

    def foreign(self, domain: str | None, level: str) -> bool:
        """Return whether something outside the group is in the domain."""
        return any(
            host.get('foreign', False)
            for host in self.hosts.values()
            if self.domain(host['id'], level) == domain
        )

    def share(self, one: str, other: str, level: str) -> bool:
        """Return whether two hosts share a domain of a level."""
        first = self.domain(one, level)
        return first is not None and first == self.domain(other, level)

    def distance(self, one: str, other: str) -> int:
        """Index of the lowest level whose domain two hosts share."""
        for index, level in enumerate(self.levels):
            if self.share(one, other, level):
                return index
        return len(self.levels)


class View:
    """The hosts and domains of one rule's members in one placement."""

    def __init__(self, cloud: Cloud, rule: Rule, placement: Placement) -> None:
        self.cloud = cloud
        self.rule = rule
        self.policy = rule.policy
        self.scope = rule.policy['scope']
        placement = {**cloud.outsiders, **placement}
        self.placement = placement
        self.hosts = [
            placement[path] for path in rule.covered if path in placement
        ]
        self.domains = [cloud.domain(host, self.scope) for host in self.hosts]
        self.counts = collections.Counter(self.domains)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """The hosts of every pair that network proximity covers."""
        sides = [
            [self.placement[path] for path in side if path in self.placement]
            for side in self.rule.sides
        ]
        if len(sides) == 1:
            return itertools.combinations(sides[0], 2)
        return itertools.chain.from_iterable(
            itertools.product(one, other)
            for one, other in itertools.combinations(sides, 2)
        )

    def shared(self) -> set[str | None]:
        """Used domains with other members or foreign servers in them."""
        others = {
            self.cloud.domain(host, self.scope)
            for path, host in self.placement.items()
            if path not in self.rule.covered
        }
        return {
            domain
            for domain in self.counts
            if domain in others or self.cloud.foreign(domain, self.scope)
        }

    def survivors(self) -> int:
        """Members left after the worst loss of ``failures`` domains."""
        worst = self.counts.most_common(self.policy.get('failures', 1))
        return len(self.hosts) - sum(count for _, count in worst)

    def needed_domains(self) -> int:
        return min(self.policy.get('min_domains', 2), len(self.hosts))

    def skew(self) -> int:
        counts = self.counts.values()
        return max(counts, default=0) - min(counts, default=0)


def _affinity(view: View) -> bool:
    return len(view.counts) <= 1


def _anti_affinity(view: View) -> bool:
    limit = view.policy.get('max_per_domain', 1)
    return all(count <= limit for count in view.counts.values())


def _spread(view: View) -> bool:
    return len(
        view.counts
    ) >= view.needed_domains() and view.skew() <= view.policy.get(
        'max_skew', 1
    )


def _exclusive(view: View) -> bool:
    return not view.shared()


def _network_proximity(view: View) -> bool:
    return all(
        view.cloud.share(one, other, view.scope) for one, other in view.pairs()
    )


def _survive(view: View) -> bool:
    return view.survivors() >= view.policy['min_members']


def _affinity_cost(view: View) -> float:
    return max(0, len(view.counts) - 1)


def _anti_affinity_cost(view: View) -> float:
    limit = view.policy.get('max_per_domain', 1)
    # The first one too many costs 1, the next one 2 more, and so on.
    return sum(sum(range(count - limit + 1)) for count in view.counts.values())


def _spread_cost(view: View) -> float:
    missing = max(0, view.needed_domains() - len(view.counts))
    return missing + max(0, view.skew() - view.policy.get('max_skew', 1))


def _exclusive_cost(view: View) -> float:
    return len(view.shared())


def _network_proximity_cost(view: View) -> float:
    return view.rule.bandwidth * sum(
        view.cloud.distance(one, other)
        for one, other in view.pairs()
        if not view.cloud.share(one, other, view.scope)
    )


def _survive_cost(view: View) -> float:
    return max(0, view.policy['min_members'] - view.survivors())


def _leader_cost(view: View) -> float:
    placed = sorted(
        path for path in view.rule.covered if path in view.placement
    )
    if not placed:
        return 0
    first = view.cloud.domain(view.placement[placed[0]], view.scope)
    return view.counts[first] - 1


def _batches_cost(view: View) -> float:
    size = view.policy.get('size_of_batch', 2)
    return sum(-count % size for count in view.counts.values())


MEETS: dict[str, Callable[[View], bool]] = {
    'affinity': _affinity,
    'anti-affinity': _anti_affinity,
    'spread': _spread,
    'exclusive': _exclusive,
    'network-proximity': _network_proximity,
    'survive': _survive,
}
COSTS: dict[str, Callable[[View], float]] = {
    'affinity': _affinity_cost,
    'anti-affinity': _anti_affinity_cost,
    'spread': _spread_cost,
    'exclusive': _exclusive_cost,
    'network-proximity': _network_proximity_cost,
    'survive': _survive_cost,
}

# Policy types of tests.toys: a strict one requires that it costs nothing.
TOY_COSTS: dict[str, Callable[[View], float]] = {
    'leader': _leader_cost,
    'batches': _batches_cost,
}

# Types that distinguish the members they cover.
ASYMMETRIC = frozenset(('leader',))


def meets(cloud: Cloud, rule: Rule, placement: Placement) -> bool:
    """Return whether a placement meets a rule, taken as strict."""
    view = View(cloud, rule, placement)
    if None in view.counts:
        return False
    kind = rule.policy['type']
    return (
        not TOY_COSTS[kind](view) if kind in TOY_COSTS else MEETS[kind](view)
    )


def cost(cloud: Cloud, rule: Rule, placement: Placement) -> float:
    """Return the weighted cost of a placement by a rule, taken as soft."""
    view = View(cloud, rule, placement)
    costs = {**COSTS, **TOY_COSTS}
    return rule.weight * costs[rule.policy['type']](view)


def options(problem: Problem, member: Member, host: str) -> list[dict]:
    """The requests by which a member may consume a host, [] if none."""
    spec = problem['classes'][member.class_name]
    if host not in spec.get('hosts', [host]):
        return []
    return spec.get('alternatives', {}).get(host, [spec['request']])


def changes(problem: Problem, placement: Placement) -> int | None:
    """Number of members that are not where they were; None if none was."""
    hosts = {host['id'] for host in problem['hosts']}
    paths = {member.path for member in members(problem)}
    known = [
        (path, host)
        for path, host in problem.get('current', {}).items()
        if path in paths and host in hosts
    ]
    if not known:
        return None
    return sum(placement.get(path) != host for path, host in known)


def preference(
    problem: Problem, among: list[Member], placement: Placement
) -> float:
    """Sum of the operator's weigher scores of the placed members."""
    total = 0
    for member in among:
        if member.path in placement:
            scores = problem['classes'][member.class_name].get('scores', {})
            total += scores.get(placement[member.path], 0)
    return total
