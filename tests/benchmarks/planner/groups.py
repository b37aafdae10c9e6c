# SPDX-License-Identifier: Apache-2.0
"""Random groups as tenants describe them, with a planted plan.

Every kind of part is a method that returns a subgroup's description and places
its members so that all strict policies are satisfied.
"""

import contextlib
import itertools

from tests.benchmarks.planner import cloud as clouds
from tests.benchmarks.planner import planting

#: Minimum and maximum number of members of a part, by kind.
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
    'bound': ('pod', 'tied', 'cell', 'cell', 'cell'),
    'elastic': ('loose', 'pod', 'tied', 'cell', 'wide'),
    'exact': ('loose', 'pod', 'tied'),
}

#: Kinds of the first part of a group, by family.
_FIRST_KINDS = {'scarce': ('gpu', 'fast')}

#: Share of the member sets of an elastic group that may be smaller.
_ELASTIC = 0.5

_INSIDE_A_CELL = ('pod', 'pod', 'replicas', 'quorum')

#: Flavors of members: groups have servers that are not small.
_COMMON = ('r2', 'm4', 'd4', 'c8', 'm8', 'r8', 'd8')
_LARGE = ('c16', 'm16', 'r16', 'd16', 'm24', 'r24', 'c32', 'm32')


#: Names of member sets; path order must not follow size.
_ROLES = ('api', 'batch', 'cache', 'db', 'index', 'queue', 'web', 'worker')


def policy(kind, scope, **options):
    """A policy's description."""
    return {'type': kind, 'scope': scope, **options}


def soft(kind, scope, weight=1, **options):
    """A soft policy's description."""
    return policy(kind, scope, strict=False, weight=weight, **options)


def host_limit(limit):
    """Return a policy that limits the members on one host."""
    return policy('anti-affinity', 'host', max_per_domain=limit)


_SOFT_POLICIES = (
    soft('affinity', 'zone', weight=5),
    soft('affinity', 'rack', weight=2),
    soft('spread', 'rack', max_skew=2, min_domains=3),
)
_GROUP_POLICIES = (
    soft('affinity', 'zone', weight=10),
    soft('spread', 'zone', weight=5, max_skew=5),
    soft('survive', 'zone', weight=3, min_members=5),
)


class GroupGenerator:
    """Generator of the parts of one group.

    :ivar plan: planting.PlantedPlan
    """

    def __init__(self, rng, cloud, plan):
        self.rng = rng
        self.cloud = cloud
        self.plan = plan
        self.all_racks = tuple(cloud.racks)
        self.flavors = (*rng.sample(_COMMON, 2), *rng.sample(_LARGE, 4))

    def generate(self, family, count):
        """Return a topology with that many members, all of them placed."""
        kinds = FAMILIES[family]
        always = _FIRST_KINDS.get(family, kinds)
        parts = self._parts('', always, kinds, count, self.all_racks)
        return {
            'groups': parts,
            'policies': [self.rng.choice(_GROUP_POLICIES)],
            'relationships': self._traffic(parts, 'zone'),
        }

    def stretch(self, topology):
        """Ask for twice the members of some sets; half of them suffices."""
        for part in topology.get('groups', {}).values():
            self.stretch(part)
        for member in topology.get('members', {}).values():
            if self.rng.random() < _ELASTIC:
                count = member['count']
                member |= {'count': 2 * count, 'min_count': -(-count // 2)}

    def _parts(self, node, first, others, count, racks):
        """Return parts with that many members in total, by name.

        :param first: kinds of which the first part is one
        :param others: kinds of the other parts
        """
        parts = {}
        preferred_racks = self.cloud.zones[
            self.rng.choice(sorted(self.cloud.zones))
        ]
        target = len(self.plan) + count
        while len(self.plan) < target:
            name = f'app-{len(parts):02}'
            path = f'{node}/{name}' if node else name
            max_size = target - len(self.plan)
            # Related parts are mostly planted in one zone.
            near = [rack for rack in racks if rack in preferred_racks]
            inside = near if near and self.rng.random() < 0.6 else racks
            kinds = others if parts else first
            parts[name] = self._part(path, kinds, max_size, inside)
        return parts

    def _part(self, path, kinds, max_size, racks):
        """Return one part; draw another if it does not fit."""
        for _ in range(1000):
            kind = self.rng.choice(kinds)
            min_size, max_usual_size = SIZES[kind]
            if min_size > max_size:
                kind, min_size = 'loose', max_size
            size = self.rng.randint(min_size, min(max_usual_size, max_size))
            with contextlib.suppress(planting.DoesNotFit):
                return self._try(kind, path, size, racks)
        raise planting.DoesNotFit(path)

    def _try(self, kind, path, size, racks):
        with self.plan.atomically():
            return getattr(self, f'_{kind}')(path, size, racks)

    def _loose(self, path, size, racks):
        """Servers on any hosts, but not all on one."""
        member_sets, members = self._member_sets(path, size)
        limit = self.rng.choice((1, 2, 3, 4))
        self.plan.assign(members, self._hosts(racks), limit)
        soft_policy = self.rng.choice(_SOFT_POLICIES)
        return {
            'members': member_sets,
            'policies': [host_limit(limit), soft_policy],
        }

    def _pod(self, path, size, racks):
        """Servers with much traffic: one rack, at most two on a host."""
        member_sets, members = self._member_sets(path, size)
        limit = self.rng.choice((1, 1, 2))
        self.assign_in_racks([members], racks, limit)
        policies = [policy('affinity', 'rack'), host_limit(limit)]
        if limit > 1:
            policies.append(soft('anti-affinity', 'host'))
        return {'members': member_sets, 'policies': policies}

    def _replicas(self, path, size, racks):
        """Copies that survive the loss of a rack."""
        member_sets, members = self._member_sets(path, size)
        domains = self.rng.randint(2, min(6, len(racks), size // 2))
        self.assign_in_racks(_deal(members, domains), racks)
        max_lost = -(-size // domains)
        policies = [
            policy('spread', 'rack', max_skew=1, min_domains=domains),
            policy('survive', 'rack', min_members=size - max_lost),
            host_limit(1),
            soft('network-proximity', 'zone', bandwidth=2),
        ]
        return {'members': member_sets, 'policies': policies}

    def _quorum(self, path, size, racks):
        """Large servers, each in a rack of its own."""
        member_sets, members = self._member_sets(
            path, min(size, len(racks)), _LARGE
        )
        self.assign_in_racks(_deal(members, len(members)), racks)
        policies = [
            policy('anti-affinity', 'rack'),
            soft('spread', 'zone', weight=3),
        ]
        return {'members': member_sets, 'policies': policies}

    def _wide(self, path, size, racks):
        """Fronts in every zone."""
        member_sets, members = self._member_sets(path, size)
        zones = list(self.cloud.zones.values())
        limit = self.rng.choice((1, 2))
        for share, inside in zip(
            _deal(members, len(zones)), zones, strict=True
        ):
            self.plan.assign(share, self._hosts(inside), limit)
        policies = [
            policy('spread', 'zone', max_skew=1, min_domains=len(zones)),
            host_limit(limit),
            soft('spread', 'rack', max_skew=2, min_domains=4),
        ]
        return {'members': member_sets, 'policies': policies}

    def _cell(self, path, size, racks):
        """Related parts in one zone."""
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
        """Two related subgroups in one rack."""
        half = size // 2
        front, callers = self._member_sets(f'{path}/front', half)
        back, called = self._member_sets(f'{path}/back', size - half)
        self.assign_in_racks([callers + called], racks)
        policy_ = policy('network-proximity', 'rack')
        return {
            'groups': {'front': {'members': front}, 'back': {'members': back}},
            'policies': [host_limit(1)],
            'relationships': [_relationship('front', 'back', 4, policy_)],
        }

    def _gpu(self, path, size, racks):
        """Servers with GPUs, which few hosts have."""
        member_sets, members = self._member_sets(path, size, ('g8', 'g16'))
        limit = self.rng.choice((1, 2))
        gpu_hosts = [h for h in self.cloud.hosts if clouds.GPU in h.total]
        self.plan.assign(members, gpu_hosts, limit)
        policies = [host_limit(limit), soft('affinity', 'rack', weight=2)]
        return {'members': member_sets, 'policies': policies}

    def _fast(self, path, size, racks):
        """Flavors for which the operator set few hosts aside."""
        member_sets, members = self._member_sets(
            path, size, sorted(self.plan.restricted)
        )
        self.plan.assign(members, self.cloud.hosts, 1)
        soft_policy = soft('spread', 'rack', min_domains=3)
        return {
            'members': member_sets,
            'policies': [host_limit(1), soft_policy],
        }

    def _member_sets(self, path, size, flavors=None):
        """Return up to five member sets, and (path, class) pairs."""
        flavors = flavors or self.flavors
        kinds = self.rng.sample(flavors, min(len(flavors), 5, -(-size // 3)))
        member_sets, members = {}, []
        for name, flavor, share in zip(
            self.rng.sample(_ROLES, len(kinds)),
            kinds,
            _split(size, kinds),
            strict=True,
        ):
            member_sets[name] = {'class': flavor, 'count': share}
            members += [(f'{path}/{name}-{n}', flavor) for n in range(share)]
        return member_sets, members

    def assign_in_racks(self, shares, racks, limit=1):
        """Place every share in a rack of its own."""
        remaining = self.rng.sample(racks, len(racks))
        for share in shares:
            remaining.remove(self._assign_in_one(share, remaining, limit))

    def _assign_in_one(self, members, racks, limit):
        for rack in racks:
            with contextlib.suppress(planting.DoesNotFit):
                self.plan.assign(members, self.cloud.racks[rack], limit)
                return rack
        raise planting.DoesNotFit(members)

    def _hosts(self, racks):
        return [host for rack in racks for host in self.cloud.racks[rack]]

    def _traffic(self, parts, scope):
        """Soft network proximity between some neighbours."""
        proximity = soft('network-proximity', scope)
        return [
            _relationship(a, b, self.rng.choice((1, 2, 5)), proximity)
            for a, b in itertools.pairwise(parts)
            if self.rng.random() < 0.5
        ]


def _relationship(a, b, bandwidth, policy_):
    return {
        'name': f'{a}-to-{b}',
        'between': [a, b],
        'bandwidth': bandwidth,
        'policies': [policy_],
    }


def _deal(members, count):
    return [members[start::count] for start in range(count)]


def _split(size, kinds):
    """Return sizes of member sets, the first ones one larger if necessary."""
    return [len(range(n, size, len(kinds))) for n in range(len(kinds))]
