# SPDX-License-Identifier: Apache-2.0
"""May a member move, while others of its group may be moving too?

Where a member under way will be is not known before its move is confirmed or
reverted: it counts at either host, and a policy has to be kept however all of
them end. What is broken already does not refuse what makes it no worse.
"""

import dataclasses
import itertools
import math

from nova_groupext.planner import rules
from nova_groupext.planner.problem import Host

# Ends that are looked at one by one; with more of them nothing is known.
MOST_ENDS = 64

# A member at two places is at least as bad for these as at one of them, and
# whatever is bad is so for places of their own.
_ADDS_UP = {'affinity', 'anti-affinity', 'exclusive', 'network-proximity'}

# A host in domains of its own in which there is nobody; no name is empty.
_EMPTY = ''


def harm(problem, policy, positions):
    """How far a policy is off in the worst case, before weight and bandwidth.

    :param positions: {member path: ids of the hosts that it is or may come
        to be on}
    :returns: a number; infinity if there are too many cases to tell
    """
    if policy.type in _ADDS_UP:
        return _harm(problem, *_everywhere(problem, policy, positions))
    open_ends = {
        path: _one_per_domain(problem, policy, positions[path])
        for path in itertools.chain(*policy.sides)
        if path in positions
    }
    if math.prod(map(len, open_ends.values())) > MOST_ENDS:
        return math.inf
    return max(
        _harm(problem, policy, dict(zip(open_ends, end, strict=True)))
        for end in itertools.product(*open_ends.values())
    )


def _harm(problem, policy, placement):
    """Breach, and members that stand in no domain of the scope."""
    nowhere = rules.count(problem, policy, placement)[None]
    return rules.breach(problem, policy, placement) + nowhere


def _everywhere(problem, policy, positions):
    """Put every member at all of its hosts at once, as so many members."""
    placement = {
        (path, host): host
        for path, hosts in positions.items()
        for host in _one_per_domain(problem, policy, hosts)
    }
    copies = {}
    for path, host in placement:
        copies.setdefault(path, []).append((path, host))
    sides = tuple(
        tuple(copy for path in side for copy in copies.get(path, ()))
        for side in policy.sides
    )
    return dataclasses.replace(policy, sides=sides), placement


def _one_per_domain(problem, policy, hosts):
    """Hosts of one domain are the same to a policy."""
    by_domain = {
        problem.domain(host, policy.scope): host for host in sorted(hosts)
    }
    return list(by_domain.values())


class Move:
    """One member that is to move, seen from the policies of its group.

    What there is to know of a host is worked out once for all hosts in the
    same domains, and once for all domains in which there is nobody.

    :param problem: Problem; its hosts are those that are asked about, those
        of ``others`` and ``home``, its topology and its levels count
    :param others: {path: ids of hosts} of all other members that have a place
    :param home: id of the host that the member is on; None for a member that
        comes back, or begins to be a server
    :param away: {path: ids of hosts} where members were to be that have no
        place now; what a policy lacks by their absence is not this one's
        fault
    """

    def __init__(self, problem, others, path, home, away=None):
        self._problem = _with_an_empty_host(problem)
        self._others = others
        self._away = away or {}
        self._path = path
        self._home = home
        self._policies = [
            _seen_from(path, policy)
            for policy in problem.topology.policies
            if policy.type == 'exclusive' or _covers(policy, path)
        ]
        self._used = {
            level: {
                problem.domain(host, level)
                for host in itertools.chain(
                    *others.values(), *self._away.values()
                )
            }
            for level in problem.levels
        }
        # By identity: a policy names all that it covers.
        self._known = {id(policy): {} for policy in self._policies}

    @property
    def is_bound(self):
        """Whether any strict policy is about it."""
        return any(policy.strict for policy in self._policies)

    def allows(self, host):
        """Whether no strict policy is broken there, or more than it is now."""
        return all(
            self._is_no_worse(policy, host)
            for policy in self._policies
            if policy.strict
        )

    def cost(self, host):
        """What of the group's cost depends on it; the least is the best.

        :returns: (harm to strict policies, soft cost)
        """
        strict, soft = 0, 0
        for policy in self._policies:
            there = self._harm(policy, host)
            if policy.strict:
                strict += there
            elif there < math.inf:
                soft += rules.price(policy) * there
        return strict, soft

    def _is_no_worse(self, policy, host):
        if self._home is None:
            most = self._least(policy)
        elif self._key(policy, host) == self._key(policy, self._home):
            return True
        else:
            most = self._harm(policy, self._home)
        there = self._harm(policy, host)
        return there < math.inf and there <= most

    def _least(self, policy):
        """Harm in the best place that is imaginable.

        What a policy lacks because the member is away is no excuse for
        putting it where it does not belong.
        """
        places = {
            *itertools.chain(*self._others.values(), *self._away.values()),
            _EMPTY,
        }
        return min(self._harm(policy, place) for place in places)

    def _harm(self, policy, host):
        known, key = self._known[id(policy)], self._key(policy, host)
        if key not in known:
            positions = {**self._others, self._path: {host}}
            if policy.type not in _ADDS_UP:
                positions = {**self._away, **positions}
            known[key] = harm(self._problem, policy, positions)
        return known[key]

    def _key(self, policy, host):
        """What a policy can tell of a host."""
        levels = (policy.scope,)
        if policy.type == 'network-proximity':
            levels += self._problem.levels
        domains = [self._problem.domain(host, level) for level in levels]
        return tuple(
            domain if domain is None or domain in self._used[level] else _EMPTY
            for level, domain in zip(levels, domains, strict=True)
        )


def _with_an_empty_host(problem):
    empty = dict.fromkeys(problem.levels[1:], _EMPTY)
    host = Host(id=_EMPTY, domains=empty, free={}, foreign=False)
    return dataclasses.replace(problem, hosts={**problem.hosts, _EMPTY: host})


def _seen_from(path, policy):
    """Leave out the pairs of others, which are many and stay as they are."""
    if policy.type != 'network-proximity':
        return policy
    [others] = [side for side in policy.sides if path not in side] or [
        tuple(other for other in policy.sides[0] if other != path)
    ]
    return dataclasses.replace(policy, sides=((path,), others))


def _covers(policy, path):
    return any(path in side for side in policy.sides)
