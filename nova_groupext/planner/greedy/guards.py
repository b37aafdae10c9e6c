# SPDX-License-Identifier: Apache-2.0
"""Policies as guards: which hosts a member may still go to.

A guard counts the members it watches by domain. Asked before each seat, it
narrows the hosts to those that keep its policy. What guards allow is a guess
where the policy can only be judged at the end; the rules judge every plan.
"""

import numpy as np


class Guard:
    """What one policy allows.

    :ivar policy: topology.Policy
    :ivar domain_of: by host: the number of its domain, -1 for none
    :ivar domains: the hosts of every domain
    :ivar firsts: the first of them, by domain
    :ivar units: the units it watches, in their order
    :ivar size: how many members it is going to count
    """

    #: Whether it waits for a decision on where its members go.
    is_open = False

    def __init__(self, board, policy):
        self.board = board
        self.policy = policy
        self.domain_of = board.level(policy.scope)
        self.domains = board.domains(policy.scope)
        self.firsts = board.firsts(policy.scope)
        paths = frozenset().union(*policy.sides)
        self.paths = paths
        units = [u for u in board.units if u.members[0] in paths]
        self.units = dict.fromkeys(units).keys()
        # The last is for the hosts without a domain.
        self.counts = np.zeros(len(self.domains) + 1, np.int64)
        for path, host in board.problem.pinned.items():
            if path in paths:
                self.count(board.number[host], 1)
        self.size = len(paths)

    def count(self, host, more):
        """Note that members came to a host, or left it."""
        self.counts[self.domain_of[host]] += more

    def count_stranger(self, host, more):
        """Note the same of a member that the policy does not cover."""

    def narrow(self, hosts):
        """Those of some hosts that may take one more of its members."""
        return hosts

    def narrow_stranger(self, hosts):
        """Those that may take one more member it does not cover."""
        return hosts

    def _by_host(self, hosts):
        return self.counts[self.domain_of[hosts]]


class Together(Guard):
    """Affinity, and what amounts to it: all in one domain, or in few.

    :ivar is_open: nothing is decided yet
    :ivar home: number of the domain all have to share, if there is one
    """

    home = None

    def __init__(self, board, policy):
        super().__init__(board, policy)
        self.is_open = not self.counts.any()
        used = np.flatnonzero(self.counts[:-1])
        if policy.strict and len(used) == 1:
            self.home = used[0]

    def settle(self, home):
        """Decide for a domain, or for None: several of them."""
        self.home = home
        self.is_open = False

    def forget(self):
        """Take the decision back."""
        self.home = None
        self.is_open = True

    def narrow(self, hosts):
        if self.home is not None:
            return hosts[self.domain_of[hosts] == self.home]
        used = hosts[self._by_host(hosts) > 0]
        is_free = not self.policy.strict or not self.counts.any()
        return hosts if is_free and not len(used) else used


class Near(Together):
    """Network proximity: where there is no domain for all, short ways."""

    def __init__(self, board, policy):
        levels = board.problem.levels
        wider = levels[levels.index(policy.scope) + 1 :]
        self._wider = [
            (board.level(level), np.zeros(len(board.domains(level)) + 1, int))
            for level in wider
        ]
        super().__init__(board, policy)

    def count(self, host, more):
        super().count(host, more)
        for domain_of, counts in self._wider:
            counts[domain_of[host]] += more

    def narrow(self, hosts):
        near = super().narrow(hosts)
        if len(near) < len(hosts) or self.policy.strict:
            return near
        for domain_of, counts in self._wider:
            near = hosts[counts[domain_of[hosts]] > 0]
            if len(near):
                return near
        return hosts


class Apart(Guard):
    """Anti-affinity, and survival: no more than so many in a domain."""

    def __init__(self, board, policy):
        super().__init__(board, policy)
        self.is_of_hosts = policy.scope == board.problem.levels[0]

    @property
    def most(self):
        """Most members of one domain."""
        if self.policy.type == 'anti-affinity':
            return self.policy.max_per_domain
        spare = self.size - self.policy.min_members
        return max(1, spare // max(1, self.policy.failures))

    def narrow(self, hosts):
        counts = self._by_host(hosts)
        below = hosts[counts < self.most]
        if self.policy.strict or len(below):
            return below
        # One more costs the least where there is the least.
        return hosts[counts == counts.min(initial=self.size)]


class Even(Guard):
    """Spread: about as many in each of a number of domains.

    :ivar is_open: nothing is decided yet
    :ivar chosen: which domains it uses, None if nothing is known to work
    :ivar least: fewest members in each of them
    :ivar most: most members in each of them
    """

    chosen = None
    least = most = 0

    def __init__(self, board, policy):
        super().__init__(board, policy)
        self.is_open = True

    def forget(self):
        """Take the decision back."""
        self.is_open = True

    def choose(self, room, turn):
        """Decide which domains to use.

        :param room: how many members each domain may take, about
        :param turn: which of the possible choices to take
        """
        self.is_open = False
        counts = self.counts[:-1]
        room = np.minimum(room + counts, self.size)
        room[counts > 0] = np.maximum(room, 1)[counts > 0]
        order = np.lexsort((-room, counts == 0))
        fewest = max(
            np.count_nonzero(counts),
            min(self.policy.min_domains, self.size),
            1,
        )
        available = np.count_nonzero(room)
        choices = []
        for used in range(fewest, available + 1):
            inside = order[:used]
            least = min(self.size // used, int(room[inside].min()))
            most = least + self.policy.max_skew
            spare = np.minimum(room[inside], most).sum() - self.size
            if least and spare >= 0:
                choices.append((-spare, used, least, most))
        self.chosen = None
        if choices:
            choices.sort()
            _, used, self.least, self.most = choices[turn % len(choices)]
            self.chosen = np.zeros(len(self.counts), bool)
            self.chosen[order[:used]] = True
        elif available < fewest:
            self.chosen = np.zeros(len(self.counts), bool)

    def narrow(self, hosts):
        if self.is_open:
            return hosts
        domains = self.domain_of[hosts]
        counts = self.counts[domains]
        if self.chosen is None:
            # Nothing is known to work, so keep as level as can be.
            return hosts[counts == counts.min(initial=self.size)]
        missing = np.maximum(0, self.least - self.counts)[self.chosen].sum()
        most = self.most
        if self.size - self.counts.sum() <= missing:
            most = self.least
        return hosts[self.chosen[domains] & (counts < most)]


class Alone(Guard):
    """Exclusive: nobody else in the domains it uses."""

    def __init__(self, board, policy):
        super().__init__(board, policy)
        self.others = np.zeros_like(self.counts)
        for host in board.problem.hosts.values():
            if host.foreign:
                self.count_stranger(board.number[host.id], 1)
        for path, host in board.problem.pinned.items():
            if path not in self.paths:
                self.count_stranger(board.number[host], 1)

    def count_stranger(self, host, more):
        self.others[self.domain_of[host]] += more

    def narrow(self, hosts):
        domains = self.domain_of[hosts]
        hosts = hosts[self.others[domains] == 0]
        used = hosts[self._by_host(hosts) > 0]
        return used if len(used) else hosts

    def narrow_stranger(self, hosts):
        return hosts[self._by_host(hosts) == 0]


_GUARDS = {
    'affinity': Together,
    'anti-affinity': Apart,
    'exclusive': Alone,
    'network-proximity': Near,
    'spread': Even,
    'survive': Apart,
}


def post(board, policy):
    """The guard of a policy."""
    return _GUARDS[policy.type](board, policy)


def waits(guard):
    """Whether a guard waits for a domain that its members are to share."""
    return isinstance(guard, Together) and guard.is_open
