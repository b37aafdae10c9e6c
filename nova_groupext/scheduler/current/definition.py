# SPDX-License-Identifier: Apache-2.0
"""Conversion of a stored group's definition into the planner's Topology."""

from nova_groupext.conf import CONF
from nova_groupext.conf import vrt
from nova_groupext.objects import topology
from nova_groupext.solver.language import paths
from nova_groupext.solver.language import topology as language
from nova_groupext.solver.model import problems


def read(group, outsiders=()):
    """Return the planner's Topology of a VRTGroup.

    Levels that are no longer configured are accepted.

    :param outsiders: path names of members of other groups; without them
        the soft policies about other groups are left out
    """
    body = topology.compose(
        group, lambda member: topology.counts(member.description)
    )
    scopes = {
        policy.definition['scope']
        for part in (group, *group.relationships)
        for policy in part.policies
    }
    return language.parse(
        body,
        levels={*vrt.levels(CONF), *scopes},
        member_schema={},
        outsiders=[paths.outside('', path) for path in outsiders],
    )


def levels(tree):
    """Return the levels that a Topology's policies refer to."""
    found = {policy.scope for policy in tree.policies}
    if any(policy.type == 'network-proximity' for policy in tree.policies):
        found.update(vrt.levels(CONF))
    return found


def policy_problem(tree, domains, host_names):
    """Return a planner's Problem with nothing but the topology and the hosts.

    :param tree: Topology
    :param domains: hosts.Domains
    :param host_names: {compute node's name: its host's name}
    """
    by_node = {node: domains.of(host) for node, host in host_names.items()}
    return problems.for_policy_checks(vrt.levels(CONF), by_node, tree)
