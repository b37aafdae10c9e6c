# SPDX-License-Identifier: Apache-2.0
"""Members that take their seats on an empty cloud."""

import collections
import contextlib

from tests.benchmarks.planner import cloud as clouds


class NoRoom(Exception):
    """What was drawn does not fit where it was to stand."""


class Planting:
    """Who sits where, and what they sit as.

    :ivar placement: member path -> host id
    :ivar used: names of the classes of all who sit
    """

    def __init__(self, rng, cloud, restricted):
        """Nobody sits yet.

        :param restricted: class name -> ids of the hosts that may take it,
            for classes that not every host may take; such a name is a
            flavor's with something behind a dash
        """
        self.rng = rng
        self.cloud = cloud
        self.restricted = restricted
        self._seated = []

    def __len__(self):
        return len(self._seated)

    @property
    def placement(self):
        return {path: host.id for path, _, host in self._seated}

    @property
    def used(self):
        return {name for _, name, _ in self._seated}

    def seat(self, members, hosts, limit=None, crowd=None):
        """Seat all of them somewhere on some hosts.

        :param members: pairs of path and class name
        :param limit: how many of the crowd one host may have
        :param crowd: Counter of those that count for it, updated
        :raises NoRoom: then none of them has a seat
        """
        crowd = collections.Counter() if crowd is None else crowd
        limit = limit or len(members)
        most = 100 + 3 * len(members)
        order = self.rng.sample(hosts, min(len(hosts), most))
        if self.rng.random() < 0.9:
            taken = {host for _, _, host in self._seated}
            order.sort(key=lambda host: (host not in taken, host.free['VCPU']))
        with self.all_or_none():
            for path, name in sorted(members, key=self._large_first):
                host = self._find(name, order, limit, crowd)
                host.take(request(name))
                crowd[host] += 1
                self._seated.append((path, name, host))

    @contextlib.contextmanager
    def all_or_none(self):
        """Take back what was seated within if it ends with NoRoom."""
        before = len(self._seated)
        try:
            yield
        except NoRoom:
            while len(self._seated) > before:
                _, name, host = self._seated.pop()
                host.give(request(name))
            raise

    def leave(self):
        """Give back the room of all; what they were given is remembered."""
        for _, name, host in self._seated:
            host.give(request(name))

    def _find(self, name, hosts, limit, crowd):
        allowed = self.restricted.get(name)
        for host in hosts:
            if (
                crowd[host] < limit
                and host.fits(request(name))
                and (allowed is None or host.id in allowed)
            ):
                return host
        raise NoRoom(name)

    def _large_first(self, member):
        path, name = member
        return -request(name)['VCPU'], path


def request(name):
    """What a class asks for: resource -> amount."""
    return clouds.FLAVORS[name.partition('-')[0]]
