# SPDX-License-Identifier: Apache-2.0
"""Snapshot of the cloud: the solver's problem and the objects behind it."""

import dataclasses

from nova_groupext.solver.model import problems
from nova_groupext.solver.model import subproblem


@dataclasses.dataclass
class MemberClass:
    """Members with the same request, and the hosts that can take them.

    :ivar name: name in the problem
    :ivar spec: RequestSpec, after Nova's request filters
    :ivar request: {resource: amount} of one member
    :ivar candidates: {host id: [allocation request of Placement, ...]}
    :ivar scores: {host id: sum of the operator's weighers}
    :ivar is_unknown: whether the request names what Placement does not know
    """

    name: str
    spec: object
    request: dict = dataclasses.field(default_factory=dict)
    candidates: dict = dataclasses.field(default_factory=dict)
    scores: dict = dataclasses.field(default_factory=dict)
    is_unknown: bool = False


@dataclasses.dataclass
class Snapshot:
    """Problem for the solver, with the Nova objects behind its names.

    :ivar problem: problems.Problem
    :ivar hosts: {host id: HostState}; the id is the compute node's name
    :ivar classes: {class name: MemberClass}
    :ivar class_of: {member path: class name}
    :ivar gaps: reading_gaps.ReadingGaps of this reading
    :ivar host_manager: the hosts.HostManager that has read the hosts
    :ivar is_old: whether it started from a kept reading: it may show less
        capacity than there is, so that only a plan for all members counts
    """

    problem: problems.Problem
    hosts: dict
    classes: dict
    class_of: dict
    gaps: object
    host_manager: object
    is_old: bool = False

    def class_of_member(self, path):
        return self.classes[self.class_of[path]]

    def members_unknown_to_placement(self):
        """Return paths of members whose requests Placement does not know."""
        return sorted(
            path
            for path in self.class_of
            if self.class_of_member(path).is_unknown
        )

    def exclude(self, path, host_id):
        """Exclude a host for a member, and for all members of its class.

        :returns: {(class name, host id)} of what is excluded; empty without
            such a member
        """
        name = self.class_of.get(path)
        if name is None:
            return set()
        self.problem = subproblem.exclude_host(self.problem, name, host_id)
        return {(name, host_id)}
