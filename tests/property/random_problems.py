# SPDX-License-Identifier: Apache-2.0
"""Random small problems, drawn from a seed or by hypothesis.

There is one generator.  It draws from anything that looks like
``random.Random``, so hypothesis can shrink what it found and a seeded run
can go through thousands of cases quickly.

Names repeat in different groups, but within a node none is the beginning of
another: the design does not say how those would be ordered.
"""

import random
from typing import NamedTuple

from hypothesis import strategies

from tests.property import definitions

HOST_IDS = ('h1', 'h10', 'h2', 'cmp-b', 'cmp-a', 'z', 'B', 'h3', 'y-1', 'y-2')
MEMBER_NAMES = ('api', 'cache', 'db', 'queue', 'web')
GROUP_NAMES = ('left', 'middle', 'right')
LEVELS = ('rack', 'zone')
RESOURCES = ('VCPU', 'MEMORY_MB')
# Large weights find a solver that stops within a *relative* gap of the
# optimum, tenths one that takes 3 x 0.1 for more than 0.3.
OUTSIDERS = (
    *('other/db-0', 'other/db-1', 'other/db-x'),
    *('more/a/b', 'more/c', 'more/c-2'),
)
OUTER_PARTS = (
    {'group': 'other'},
    {'group': 'other', 'path': 'db'},
    {'group': 'other', 'path': 'db-1'},
    {'group': 'more', 'path': 'a'},
    {'group': 'more', 'path': 'c'},
    {'group': 'more', 'path': 'gone'},
)
WEIGHTS = (0.1, 0.25, 0.3, 1, 1, 3, 12345.678, 100000, 10**7)
# One more than fits is told from what fits, however large the numbers are.
UNITS = (1, 1, 512, 10**8)
TYPES = tuple(definitions.MEETS)
TOYS = tuple(definitions.TOY_COSTS)


class Profile(NamedTuple):
    """Sizes and probabilities of the problems of one run."""

    hosts: int = 5
    policies: int = 2
    relationships: int = 2
    pinned: float = 0.1
    optional: float = 0.3
    strict: float = 0.4
    tight: float = 0.5
    without_domain: float = 0.05
    counts: tuple[int, ...] = (1, 2, 2, 3, 4, 12)
    leaves: tuple[int, ...] = (300, 5000, 100000)
    levels: tuple[str, ...] = LEVELS
    min_levels: int = 0
    groups: tuple[int, ...] = (0, 1, 1, 2, 3)
    chained: float = 0
    outer: float = 0
    placed: float = 0
    types: tuple[str, ...] = TYPES


PROFILES = {
    'capacity': Profile(policies=1, optional=0.6, tight=0.9),
    'costs': Profile(
        policies=5, relationships=3, strict=0.1, optional=0.1, tight=0.3
    ),
    # Most members are somewhere, of which some may be lawful.
    'changes': Profile(policies=3, pinned=0.05, strict=0.3, placed=0.8),
    'policies': Profile(policies=4, relationships=0, tight=0.3),
    'relationships': Profile(policies=1, relationships=3, tight=0.3),
    'pins': Profile(policies=3, pinned=0.35),
    'no_domains': Profile(policies=3, strict=0.2, without_domain=0.5),
    'outsiders': Profile(
        policies=2, relationships=4, strict=0.2, pinned=0.15, outer=0.7
    ),
    # Six levels, and mostly six groups within one another.
    'deep': Profile(
        policies=4,
        strict=0.25,
        tight=0.3,
        levels=('chassis', 'rack', 'row', 'room', 'zone'),
        min_levels=5,
        groups=(3, 5, 5),
        chained=0.8,
    ),
}
# With policy types that only tests.toys provides.
TOY_PROFILES = {
    'toys': Profile(
        policies=3, relationships=2, leaves=(100, 1000), types=(*TOYS, *TYPES)
    ),
    'toys_alone': Profile(
        policies=3,
        relationships=1,
        pinned=0.2,
        leaves=(100, 500),
        types=TOYS,
    ),
}
# Far too many assignments for the oracle, so these come with a plan.
PLANTED = Profile(
    hosts=10,
    policies=5,
    strict=0.8,
    counts=(2, 4, 7, 12),
    leaves=(10**15,),
)
DEEP_AND_PLANTED = PROFILES['deep']._replace(
    hosts=10, policies=6, strict=0.8, counts=(2, 4, 7), leaves=(10**15,)
)


def seeded(name: str, seed: int) -> definitions.Problem:
    """The problem that belongs to a profile's name and a seed."""
    # Profiles that shared their seeds would draw much the same problems.
    profile = {**PROFILES, **TOY_PROFILES}[name]
    return problem(random.Random(f'{name} {seed}'), profile)


def drawn(profile: Profile) -> strategies.SearchStrategy:
    """The same problems as a strategy that can shrink them."""
    randoms = strategies.randoms(use_true_random=False)
    return randoms.map(lambda rng: problem(rng, profile))


def problem(rng: random.Random, profile: Profile) -> definitions.Problem:
    """Draw one problem, no larger than its profile allows."""
    return _Draw(rng, profile).problem()


def planted(
    seed: int, profile: Profile = PLANTED
) -> tuple[definitions.Problem, dict[str, str]]:
    """A larger problem and a feasible plan for all of its members.

    Hosts get the capacity the plan needs, and strict policies it breaks
    become soft.
    """
    rng = random.Random(seed)
    drawn = problem(rng, profile)
    cloud = definitions.Cloud(drawn)
    rules = definitions.rules(drawn)
    plan = max(
        (_random_plan(rng, drawn) for _ in range(20)),
        key=lambda plan: sum(
            definitions.meets(cloud, rule, plan) for rule in rules
        ),
    )
    _fit_capacity(drawn, plan)
    for rule in rules:
        if not definitions.meets(cloud, rule, plan):
            rule.policy['strict'] = False
    return drawn, plan


def _random_plan(
    rng: random.Random, drawn: definitions.Problem
) -> dict[str, str]:
    """Members of one member set go to a few hosts of their own."""
    hosts = [host['id'] for host in drawn['hosts']]
    few = {}
    plan = {}
    for member in definitions.members(drawn):
        sample = rng.sample(hosts, rng.randint(1, min(4, len(hosts))))
        plan[member.path] = rng.choice(
            few.setdefault(member.member_set, sample)
        )
    return {**plan, **drawn['pinned']}


def _fit_capacity(drawn: definitions.Problem, plan: dict[str, str]) -> None:
    """Give every host exactly the capacity that a plan consumes."""
    for spec in drawn['classes'].values():
        spec.pop('hosts', None)
        spec.pop('alternatives', None)
    for host in drawn['hosts']:
        host['free'] = dict.fromkeys(RESOURCES, 0)
        for member in definitions.members(drawn):
            if plan[member.path] == host['id']:
                spec = drawn['classes'][member.class_name]
                for name, amount in spec['request'].items():
                    host['free'][name] += amount


class _Draw:
    def __init__(self, rng: random.Random, profile: Profile) -> None:
        self.rng = rng
        self.profile = profile
        self.tight = rng.random() < profile.tight
        self.units = {name: rng.choice(UNITS) for name in RESOURCES}

    def problem(self) -> definitions.Problem:
        rng = self.rng
        levels = list(self.profile.levels)
        min_count = self.profile.min_levels
        others = rng.sample(levels, rng.randint(min_count, len(levels)))
        self.drawn = {
            'version': 1,
            'levels': ['host', *others],
            'hosts': [],
            'classes': {},
            'topology': {},
            'pinned': {},
            'time_limit': 60.0,
            'seed': 0,
        }
        self._add_hosts()
        for name in ('small', 'large', 'odd')[: rng.randint(1, 3)]:
            self.drawn['classes'][name] = self._class()
        self._add_groups()
        self._add_members()
        _drop_empty_groups(self.drawn['topology'])
        self._add_policies()
        self._add_pins()
        if self.profile.outer:
            self._add_outsiders()
        if self.profile.placed:
            self._add_current()
        return self.drawn

    def _chance(self, chance: float) -> bool:
        return self.rng.random() < chance

    def _add_hosts(self) -> None:
        rng = self.rng
        levels = self.drawn['levels'][1:]
        names = HOST_IDS[: self.profile.hosts]
        for host in rng.sample(names, rng.randint(1, len(names))):
            domains = {
                level: f'{level}-{rng.randint(1, 3)}'
                for level in levels
                if not self._chance(self.profile.without_domain)
            }
            drawn = {'id': host, 'domains': domains, 'free': self._free()}
            if self._chance(0.3):
                drawn['foreign'] = self._chance(0.6)
            self.drawn['hosts'].append(drawn)

    def _free(self) -> dict:
        steps = (2, 3, 4, 5, 7) if self.tight else (6, 8, 16)
        free = {}
        for name, unit in self.units.items():
            if not self._chance(0.03):
                short_of_one = self.rng.choice((0, 0, unit - 1))
                free[name] = self.rng.choice(steps) * unit + short_of_one
        return free

    def _hosts(self) -> list[str]:
        return [host['id'] for host in self.drawn['hosts']]

    def _some(self, items: list, min_count: int = 0) -> list:
        size = self.rng.randint(min_count, len(items))
        return self.rng.sample(items, size)

    def _request(self) -> dict:
        max_count = 3 if self.tight else 4
        names = self._some(list(RESOURCES), min_count=1)
        return {
            name: self.rng.randint(1, max_count) * self.units[name]
            for name in names
        }

    def _class(self) -> dict:
        drawn = {'request': self._request()}
        if self._chance(0.25):
            min_count = 0 if self._chance(0.1) else len(self._hosts()) // 2
            drawn['hosts'] = self._some(self._hosts(), min_count)
        if self._chance(0.5):
            step = self.rng.choice((0.5, 0.1, 100.3))
            drawn['scores'] = {
                host: round(self.rng.randint(-4, 8) * step, 1)
                for host in self._some(self._hosts())
            }
        if self._chance(0.25):
            drawn['alternatives'] = {
                host: [self._request() for _ in range(self.rng.randint(1, 2))]
                for host in self._some(self._hosts())[:2]
            }
        return drawn

    def _nodes(self) -> list[tuple[str, dict]]:
        return list(definitions.nodes(self.drawn))

    def _add_groups(self) -> None:
        """Add subgroups, each below a random node or below the last one."""
        last = self.drawn['topology']
        for _ in range(self.rng.choice(self.profile.groups)):
            _, parent = self.rng.choice(self._nodes())
            if self.profile.chained and self._chance(self.profile.chained):
                parent = last
            groups = parent.setdefault('groups', {})
            last = groups.setdefault(self.rng.choice(GROUP_NAMES), {})

    def _add_members(self) -> None:
        """Members, until placing them takes too many combinations."""
        leaves = self.rng.choice(self.profile.leaves)
        for _ in range(self.rng.randint(1, 5)):
            _, node = self.rng.choice(self._nodes())
            spec = self._member()
            options = self._count_options(spec['class'])
            while leaves < (options + 1) ** spec.get('count', 1) > 1:
                if spec.get('count', 1) == 1:
                    return
                spec['count'] -= 1
            leaves /= (options + 1) ** spec.get('count', 1)
            if self._chance(self.profile.optional):
                max_count = spec.get('count', 1)
                spec['min_count'] = self.rng.randint(0, max_count)
            name = self.rng.choice(MEMBER_NAMES)
            node.setdefault('members', {}).setdefault(name, spec)

    def _member(self) -> dict:
        spec = {'class': self.rng.choice(list(self.drawn['classes']))}
        if self._chance(0.6):
            spec['count'] = self.rng.choice(self.profile.counts)
        return spec

    def _count_options(self, class_name: str) -> int:
        """Return the number of ways to place a member of a class."""
        any_member = definitions.Member('', '', class_name, 1, 1)
        return sum(
            len(definitions.options(self.drawn, any_member, host))
            for host in self._hosts()
        )

    def _add_policies(self) -> None:
        for _ in range(self._number(self.profile.policies)):
            _, node = self.rng.choice(self._nodes())
            if node.get('members') and self._chance(0.2):
                node = self.rng.choice(list(node['members'].values()))
            node.setdefault('policies', []).append(self._policy(True))
        for number in range(self._number(self.profile.relationships)):
            self._add_relationship(f'link{number}')

    def _number(self, max_count: int) -> int:
        return self.rng.randint(max_count // 2, max_count)

    def _policy(self, on_group: bool) -> dict:
        rng = self.rng
        policy = {
            'type': rng.choice(self.profile.types),
            'scope': rng.choice(self.drawn['levels']),
        }
        parameters = {
            'anti-affinity': {'max_per_domain': (1, 2, 3)},
            'spread': {'max_skew': (0, 1, 2), 'min_domains': (1, 2, 3, 4)},
            'survive': {'failures': (1, 2)},
            'batches': {'size_of_batch': (2, 3)},
        }
        for name, values in parameters.get(policy['type'], {}).items():
            if self._chance(0.5):
                policy[name] = rng.choice(values)
        if policy['type'] == 'survive':
            policy['min_members'] = rng.choice((1, 1, 2, 3))
        if policy['type'] == 'network-proximity' and on_group:
            self._add_bandwidth(policy)
        if not self._chance(self.profile.strict):
            policy['strict'] = False
        elif self._chance(0.2):
            policy['strict'] = True
        if self._chance(0.5):
            policy['weight'] = rng.choice(WEIGHTS)
        return policy

    def _add_bandwidth(self, target: dict) -> None:
        if self._chance(0.5):
            target['bandwidth'] = self.rng.choice((0.5, 1, 2, 10))

    def _add_relationship(self, name: str) -> None:
        """Join disjoint, non-empty parts below some node, if there are two."""
        at, node = self.rng.choice(self._nodes())
        ends = self._ends(at)
        pairs = [
            [one, other]
            for one in ends
            for other in ends
            if not self._matching(at, one) & self._matching(at, other)
        ]
        if not pairs:
            return
        between = self.rng.choice(pairs)
        while self._chance(0.4):
            covered = {p for end in between for p in self._matching(at, end)}
            others = [e for e in ends if not covered & self._matching(at, e)]
            if not others:
                break
            between.append(self.rng.choice(others))
        relation = {'name': name, 'between': between}
        self._add_bandwidth(relation)
        relation['policies'] = [
            self._policy(False) for _ in range(self.rng.choice((1, 1, 2)))
        ]
        if self.profile.outer and self._chance(self.profile.outer):
            self._add_outer_parts(relation)
        node.setdefault('relationships', []).append(relation)

    def _add_outer_parts(self, relation: dict) -> None:
        """Relate it to members of other groups, softly and not overlapping."""
        one, other = self.rng.sample(OUTER_PARTS, 2)
        parts = [one]
        if one['group'] != other['group']:
            parts.append(other)
        relation['between'] = relation['between'][: self.rng.randint(1, 2)]
        relation['between'] += [dict(part) for part in parts]
        for policy in relation['policies']:
            policy['strict'] = False

    def _add_outsiders(self) -> None:
        for path in self._some(OUTSIDERS):
            host = self.rng.choice(self._hosts())
            self.drawn.setdefault('outsiders', {})[path] = host

    def _add_current(self) -> None:
        """Put members on few hosts; some of both are gone."""
        hosts = [*self._some(self._hosts(), min_count=1), 'gone']
        paths = [member.path for member in definitions.members(self.drawn)]
        self.drawn['current'] = {
            path: self.rng.choice(hosts)
            for path in [*paths, 'gone']
            if self._chance(self.profile.placed)
        }
        self.drawn['objective'] = self.rng.choice(('changes', 'cost'))

    def _ends(self, at: str) -> list[str]:
        """The possible ends of a relationship at a node."""
        found = {path for path, _ in self._nodes()}
        for member in definitions.members(self.drawn):
            found.update((member.path, member.member_set))
        prefix = f'{at}/' if at else ''
        return sorted(
            path.removeprefix(prefix)
            for path in found
            if path.startswith(prefix)
            and path != ''
            and definitions.matching(self.drawn, path)
        )

    def _matching(self, at: str, end: str) -> frozenset[str]:
        path = definitions.join(at, end)
        return definitions.matching(self.drawn, path)

    def _add_pins(self) -> None:
        for member in definitions.members(self.drawn):
            if self._chance(self.profile.pinned):
                host = self.rng.choice(self._hosts())
                self.drawn['pinned'][member.path] = host


def _drop_empty_groups(node: dict) -> None:
    """Take away the subgroups that have no member at or below them."""
    groups = node.get('groups', {})
    for name, child in list(groups.items()):
        _drop_empty_groups(child)
        if not child.get('members') and not child.get('groups'):
            del groups[name]
