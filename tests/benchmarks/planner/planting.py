# SPDX-License-Identifier: Apache-2.0
"""Placement of members on an empty cloud."""

import collections
import contextlib

from tests.benchmarks.planner import cloud as clouds


class DoesNotFit(Exception):
    """Members that do not fit on the hosts chosen for them."""


class PlantedPlan:
    """Hosts and classes of the members placed so far.

    :ivar placement: member path -> host id
    :ivar used: names of the classes of these members
    """

    def __init__(self, rng, cloud, restricted):
        """Start without members.

        :param restricted: class name -> ids of the hosts that may take it,
            for classes that not every host may take; their names start with
            a flavor and a dash
        """
        self.rng = rng
        self.cloud = cloud
        self.restricted = restricted
        self._assigned = []

    def __len__(self):
        return len(self._assigned)

    @property
    def placement(self):
        return {path: host.id for path, _, host in self._assigned}

    @property
    def used(self):
        return {name for _, name, _ in self._assigned}

    def assign(self, members, hosts, limit=None, counts=None):
        """Assign members to some hosts.

        :param members: pairs of path and class name
        :param limit: maximum number of counted members on one host
        :param counts: Counter of such members by host, updated
        :raises DoesNotFit: no member is assigned then
        """
        counts = collections.Counter() if counts is None else counts
        limit = limit or len(members)
        max_hosts = 100 + 3 * len(members)
        order = self.rng.sample(hosts, min(len(hosts), max_hosts))
        if self.rng.random() < 0.9:
            used_hosts = {host for _, _, host in self._assigned}
            order.sort(
                key=lambda host: (host not in used_hosts, host.free['VCPU'])
            )
        with self.atomically():
            for path, name in sorted(members, key=self._largest_first):
                host = self._find(name, order, limit, counts)
                host.assign(request(name))
                counts[host] += 1
                self._assigned.append((path, name, host))

    @contextlib.contextmanager
    def atomically(self):
        """Undo the assignments within the context if it ends in DoesNotFit."""
        assigned_count = len(self._assigned)
        try:
            yield
        except DoesNotFit:
            while len(self._assigned) > assigned_count:
                _, name, host = self._assigned.pop()
                host.unassign(request(name))
            raise

    def release(self):
        """Free the capacity of all members, but keep the placement."""
        for _, name, host in self._assigned:
            host.unassign(request(name))

    def _find(self, name, hosts, limit, counts):
        allowed = self.restricted.get(name)
        for host in hosts:
            if (
                counts[host] < limit
                and host.count_fits(request(name))
                and (allowed is None or host.id in allowed)
            ):
                return host
        raise DoesNotFit(name)

    def _largest_first(self, member):
        path, name = member
        return -request(name)['VCPU'], path


def request(name):
    """Return the request of a class: resource -> amount."""
    return clouds.FLAVORS[name.partition('-')[0]]
