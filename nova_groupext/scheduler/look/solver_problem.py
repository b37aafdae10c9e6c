# SPDX-License-Identifier: Apache-2.0
"""Solver problem of a group, from what a reading of the cloud has found."""

from nova_groupext.conf import CONF
from nova_groupext.conf import vrt
from nova_groupext.objects import topology
from nova_groupext.scheduler.current import outsiders
from nova_groupext.scheduler.nova import host_domains
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import subproblem

# Class of member sets without members
NO_CLASS = ''


class ProblemBuilder:
    """Builder of one problem.

    :param current: current_holds.CurrentHolds of the group
    :param host_states: {host id: HostState} of all hosts
    :param free: {root provider: {(provider, resource class): amount}}
    :param foreign: ids of the hosts with foreign consumers
    """

    def __init__(self, context, group, current, host_states, free, foreign):
        self._context = context
        self._group = group
        self._current = current
        self._hosts = host_states
        self._free = free
        self._foreign = foreign

    def build(self, classes, class_of):
        """Return the problems.Problem of the group.

        :param classes: {class name: snapshot.MemberClass}
        :param class_of: {member path: class name}
        """
        class_of_set = {
            member.member_set: class_of[member.path]
            for member in self._group.members
        }
        counts = topology.present_counts(self._group)
        problem = problems.parse(
            {
                'version': 1,
                'levels': vrt.levels(CONF),
                **self._describe_hosts(class_of),
                'classes': {
                    name: self._describe_class(member_class)
                    for name, member_class in classes.items()
                },
                'topology': topology.compose(
                    self._group,
                    lambda member_set: {
                        'class': class_of_set.get(member_set.path, NO_CLASS),
                        **counts(member_set),
                    },
                ),
                'current': {
                    path: hold.node
                    for path, hold in self._current.held.items()
                },
                'seed': CONF.vrt.solver_seed,
            }
        )
        others = {
            member.path: class_of[member.path]
            for member in self._group.members
            if class_of[member.path] != class_of_set[member.member_set]
        }
        return subproblem.reclassify(problem, problem.classes, others)

    def _describe_hosts(self, class_of):
        """Return the hosts, and the present locations of members."""
        pinned = {
            path: hold.node
            for path, hold in self._current.servers.items()
            if path in class_of
        }
        outsider_nodes = {
            path: location.node
            for path, location in outsiders.locate(
                self._context, self._group
            ).items()
        }
        # A server may be on a host that the operator has taken away.
        missing = {
            *pinned.values(),
            *outsider_nodes.values(),
        } - self._hosts.keys()
        return {
            'hosts': [
                {
                    'id': host_id,
                    'domains': host_domains.of_state(host),
                    'free': self._free_on(host),
                    'foreign': host_id in self._foreign,
                }
                for host_id, host in self._hosts.items()
            ]
            + [{'id': host_id} for host_id in sorted(missing)],
            'pinned': pinned,
            'outsiders': outsider_nodes,
        }

    def _free_on(self, host):
        """Return {resource: amount} of free capacity.

        A host that is no candidate of any class has none.
        """
        return {
            resource_name(name, provider, host.uuid): amount
            for (provider, name), amount in self._free[host.uuid].items()
        }

    def _describe_class(self, member_class):
        amounts = {
            host_id: [self._amounts(request, host_id) for request in requests]
            for host_id, requests in member_class.candidates.items()
        }
        return {
            'request': member_class.request,
            'hosts': sorted(member_class.candidates),
            'scores': member_class.scores,
            'alternatives': {
                host_id: alternatives
                for host_id, alternatives in amounts.items()
                if alternatives != [member_class.request]
            },
        }

    def _amounts(self, request, host_id):
        """Return {resource: amount} of an allocation request."""
        root = self._hosts[host_id].uuid
        return {
            resource_name(name, provider, root): amount
            for provider, allocation in request['allocations'].items()
            for name, amount in allocation['resources'].items()
        }


def resource_name(name, provider, root):
    """Return the name of a host's resource in the problem.

    The name of a child provider's resource contains the provider.
    """
    return name if provider == root else f'{name}@{provider}'
