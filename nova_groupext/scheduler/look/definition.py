# SPDX-License-Identifier: Apache-2.0
"""A stored group's topology, read and resolved as the planner reads it."""

from nova_groupext.conf import CONF
from nova_groupext.conf import vrt
from nova_groupext.objects import topology
from nova_groupext.planner import problem
from nova_groupext.planner import topology as language


def read(group):
    """Return the planner's Topology of a VRTGroup.

    A level that the operator has removed meanwhile is no reason to fail.
    """
    described = topology.compose(
        group, lambda member: topology.counts(member.description)
    )
    scopes = {
        policy.definition['scope']
        for part in (group, *group.relationships)
        for policy in part.policies
    }
    return language.parse(
        described, levels={*vrt.levels(CONF), *scopes}, member_schema={}
    )


def levels(tree):
    """Return the levels that a Topology's policies ask about."""
    found = {policy.scope for policy in tree.policies}
    if any(policy.type == 'network-proximity' for policy in tree.policies):
        found.update(vrt.levels(CONF))
    return found


def of_places(tree, domains, names):
    """Return a planner's Problem that is only about where members are.

    :param tree: Topology
    :param domains: hosts.Domains
    :param names: {compute node's name: its host's name}
    """
    by_node = {node: domains.of(host) for node, host in names.items()}
    return problem.of_places(vrt.levels(CONF), by_node, tree)
