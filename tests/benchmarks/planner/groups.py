# SPDX-License-Identifier: Apache-2.0
"""Groups as tenants describe them, planted while they are drawn.

Every kind of part is a method that gives a subgroup's description and seats
its members so that all strict policies are kept.
"""

import contextlib
import itertools

from tests.benchmarks.planner import cloud as clouds
from tests.benchmarks.planner import planting

#: How many members a part of each kind has, least and most.
SIZES = {
    'loose': (4, 30),
    'pod': (10, 16),
    'replicas': (8, 24),
    'quorum': (3, 5),
    'wide': (8, 24),
    'cell': (18, 50),
    'tied': (10, 18),
    'gpu': (4, 12),
    'fast': (4, 10),
}

FAMILIES = {
    'plain': ('loose',),
    'topology': (
        *('pod', 'pod', 'tied', 'tied', 'cell', 'cell'),
        *('replicas', 'wide', 'quorum'),
    ),
    'scarce': ('pod', 'tied', 'gpu', 'fast'),
}

#: What a group of the family has at least one of.
_ALWAYS = {'scarce': ('gpu', 'fast')}

_INSIDE_A_CELL = ('pod', 'pod', 'replicas', 'quorum')

#: Whoever plans a group at all has servers that are not small.
_COMMON = ('r2', 'm4', 'd4', 'c8', 'm8', 'r8', 'd8')
_LARGE = ('c16', 'm16', 'r16', 'd16', 'm24', 'r24', 'c32', 'm32')


#: Names of stems; path order must not follow size.
_ROLES = ('api', 'batch', 'cache', 'db', 'index', 'queue', 'web', 'worker')


def policy(kind, scope, **options):
    """A policy's description."""
    return {'type': kind, 'scope': scope, **options}


def soft(kind, scope, weight=1, **options):
    """A soft policy's description."""
    return policy(kind, scope, strict=False, weight=weight, **options)


def apart(limit):
    """At most that many on one host."""
    return policy('anti-affinity', 'host', max_per_domain=limit)


_WISHES = (
    soft('affinity', 'zone', weight=5),
    soft('affinity', 'rack', weight=2),
    soft('spread', 'rack', max_skew=2, min_domains=3),
)
_WISHES_FOR_ALL = (
    soft('affinity', 'zone', weight=10),
    soft('spread', 'zone', weight=5, max_skew=5),
    soft('survive', 'zone', weight=3, min_members=5),
)


class Author:
    """Draws the parts of one group.

    :ivar plan: planting.Planting
    """

    def __init__(self, rng, cloud, plan):
        self.rng = rng
        self.cloud = cloud
        self.plan = plan
        self.everywhere = tuple(cloud.racks)
        self.flavors = (*rng.sample(_COMMON, 2), *rng.sample(_LARGE, 4))

    def write(self, family, count):
        """A topology with that many members, all of them seated."""
        kinds = FAMILIES[family]
        always = _ALWAYS.get(family, kinds)
        parts = self._parts('', always, kinds, count, self.everywhere)
        return {
            'groups': parts,
            'policies': [self.rng.choice(_WISHES_FOR_ALL)],
            'relationships': self._traffic(parts, 'zone'),
        }

    def _parts(self, node, first, others, count, racks):
        """Parts with that many members in all, by name.

        :param first: kinds of which the first part is one
        :param others: kinds of the other parts
        """
        parts = {}
        home = self.cloud.zones[self.rng.choice(sorted(self.cloud.zones))]
        goal = len(self.plan) + count
        while len(self.plan) < goal:
            name = f'app-{len(parts):02}'
            path = f'{node}/{name}' if node else name
            most = goal - len(self.plan)
            # Who talks a lot was planted together more often than not.
            near = [rack for rack in racks if rack in home]
            inside = near if near and self.rng.random() < 0.6 else racks
            kinds = others if parts else first
            parts[name] = self._part(path, kinds, most, inside)
        return parts

    def _part(self, path, kinds, most, racks):
        """One part; what turns out to have no room is drawn again."""
        for _ in range(1000):
            kind = self.rng.choice(kinds)
            least, usual = SIZES[kind]
            if least > most:
                kind, least = 'loose', most
            size = self.rng.randint(least, min(usual, most))
            with contextlib.suppress(planting.NoRoom):
                return self._try(kind, path, size, racks)
        raise planting.NoRoom(path)

    def _try(self, kind, path, size, racks):
        with self.plan.all_or_none():
            return getattr(self, f'_{kind}')(path, size, racks)

    def _loose(self, path, size, racks):
        """Servers that may stand anywhere, but not all on one host."""
        stems, members = self._stems(path, size)
        limit = self.rng.choice((1, 2, 3, 4))
        self.plan.seat(members, self._hosts(racks), limit)
        wish = self.rng.choice(_WISHES)
        return {'members': stems, 'policies': [apart(limit), wish]}

    def _pod(self, path, size, racks):
        """Chatty servers: one rack, a host for each or two."""
        stems, members = self._stems(path, size)
        limit = self.rng.choice((1, 1, 2))
        self.seat_in_racks([members], racks, limit)
        policies = [policy('affinity', 'rack'), apart(limit)]
        if limit > 1:
            policies.append(soft('anti-affinity', 'host'))
        return {'members': stems, 'policies': policies}

    def _replicas(self, path, size, racks):
        """Copies that outlive a rack."""
        stems, members = self._stems(path, size)
        domains = self.rng.randint(2, min(6, len(racks), size // 2))
        self.seat_in_racks(_deal(members, domains), racks)
        lost = -(-size // domains)
        policies = [
            policy('spread', 'rack', max_skew=1, min_domains=domains),
            policy('survive', 'rack', min_members=size - lost),
            apart(1),
            soft('network-proximity', 'zone', bandwidth=2),
        ]
        return {'members': stems, 'policies': policies}

    def _quorum(self, path, size, racks):
        """Large servers, each in a rack of its own."""
        stems, members = self._stems(path, min(size, len(racks)), _LARGE)
        self.seat_in_racks(_deal(members, len(members)), racks)
        policies = [
            policy('anti-affinity', 'rack'),
            soft('spread', 'zone', weight=3),
        ]
        return {'members': stems, 'policies': policies}

    def _wide(self, path, size, racks):
        """Fronts in every zone."""
        stems, members = self._stems(path, size)
        zones = list(self.cloud.zones.values())
        limit = self.rng.choice((1, 2))
        for share, inside in zip(
            _deal(members, len(zones)), zones, strict=True
        ):
            self.plan.seat(share, self._hosts(inside), limit)
        policies = [
            policy('spread', 'zone', max_skew=1, min_domains=len(zones)),
            apart(limit),
            soft('spread', 'rack', max_skew=2, min_domains=4),
        ]
        return {'members': stems, 'policies': policies}

    def _cell(self, path, size, racks):
        """A small world in one zone, whose parts talk to one another."""
        zone = self.rng.choice(sorted(self.cloud.zones))
        inside = self.cloud.zones[zone]
        kinds = _INSIDE_A_CELL
        parts = self._parts(path, kinds, kinds, size, inside)
        return {
            'groups': parts,
            'policies': [policy('affinity', 'zone')],
            'relationships': self._traffic(parts, 'rack'),
        }

    def _tied(self, path, size, racks):
        """A front and a back that have to share a rack."""
        half = size // 2
        front, callers = self._stems(f'{path}/front', half)
        back, called = self._stems(f'{path}/back', size - half)
        self.seat_in_racks([callers + called], racks)
        tie = policy('network-proximity', 'rack')
        return {
            'groups': {'front': {'members': front}, 'back': {'members': back}},
            'policies': [apart(1)],
            'relationships': [_relationship('front', 'back', 4, tie)],
        }

    def _gpu(self, path, size, racks):
        """What few hosts have."""
        stems, members = self._stems(path, size, ('g8', 'g16'))
        limit = self.rng.choice((1, 2))
        having = [h for h in self.cloud.hosts if clouds.GPU in h.total]
        self.plan.seat(members, having, limit)
        policies = [apart(limit), soft('affinity', 'rack', weight=2)]
        return {'members': stems, 'policies': policies}

    def _fast(self, path, size, racks):
        """Flavors for which the operator set few hosts aside."""
        stems, members = self._stems(path, size, sorted(self.plan.restricted))
        self.plan.seat(members, self.cloud.hosts, 1)
        wish = soft('spread', 'rack', min_domains=3)
        return {'members': stems, 'policies': [apart(1), wish]}

    def _stems(self, path, size, flavors=None):
        """Up to five stems: descriptions, and pairs of path and class."""
        flavors = flavors or self.flavors
        kinds = self.rng.sample(flavors, min(len(flavors), 5, -(-size // 3)))
        stems, members = {}, []
        for name, flavor, share in zip(
            self.rng.sample(_ROLES, len(kinds)),
            kinds,
            _split(size, kinds),
            strict=True,
        ):
            stems[name] = {'class': flavor, 'count': share}
            members += [(f'{path}/{name}-{n}', flavor) for n in range(share)]
        return stems, members

    def seat_in_racks(self, shares, racks, limit=1):
        """Seat every share in a rack of its own."""
        left = self.rng.sample(racks, len(racks))
        for share in shares:
            left.remove(self._seat_in_one(share, left, limit))

    def _seat_in_one(self, members, racks, limit):
        for rack in racks:
            with contextlib.suppress(planting.NoRoom):
                self.plan.seat(members, self.cloud.racks[rack], limit)
                return rack
        raise planting.NoRoom(members)

    def _hosts(self, racks):
        return [host for rack in racks for host in self.cloud.racks[rack]]

    def _traffic(self, parts, scope):
        """Soft network proximity between some neighbours."""
        near = soft('network-proximity', scope)
        return [
            _relationship(a, b, self.rng.choice((1, 2, 5)), near)
            for a, b in itertools.pairwise(parts)
            if self.rng.random() < 0.5
        ]


def _relationship(a, b, bandwidth, tie):
    return {
        'name': f'{a}-to-{b}',
        'between': [a, b],
        'bandwidth': bandwidth,
        'policies': [tie],
    }


def _deal(members, hands):
    return [members[start::hands] for start in range(hands)]


def _split(size, kinds):
    """Sizes of stems, the first ones larger by one where it does not go up."""
    return [len(range(n, size, len(kinds))) for n in range(len(kinds))]
