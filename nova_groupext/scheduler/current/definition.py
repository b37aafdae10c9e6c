# SPDX-License-Identifier: Apache-2.0
"""Conversion of a stored group's definition into the solver's Topology."""

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.conf import vrt
from nova_groupext.objects import topology
from nova_groupext.solver.language import parser
from nova_groupext.solver.language import paths
from nova_groupext.solver.language import schemas
from nova_groupext.solver.model import problems
from nova_groupext.solver.policies import base
from nova_groupext.solver.policies import registry


def read(group, outsiders=()):
    """Return the solver's Topology of a VRTGroup or PresentGroup.

    Levels that are no longer configured are accepted.

    :param outsiders: path names of members of other groups; without them
        the soft policies about other groups are left out
    :raises: UnknownPolicyType
    """
    check_policy_types(group)
    body = topology.compose(group, topology.present_counts(group))
    scopes = {
        policy.definition['scope']
        for part in (group, *group.relationships)
        for policy in part.policies
    }
    return parser.parse(
        body,
        levels={*vrt.levels(CONF), *scopes},
        member_schema={'properties': schemas.NAMES},
        outsiders=[paths.outside('', path) for path in outsiders],
    )


def check_policy_types(group):
    """Raise if the API knows a policy type of a group that is unknown here.

    :raises: UnknownPolicyType
    """
    unknown = group.policy_types - registry.types().keys()
    if unknown:
        raise exception.UnknownPolicyType(types=', '.join(sorted(unknown)))


def levels(tree):
    """Return the levels that a Topology's policies refer to."""
    found = {policy.scope for policy in tree.policies}
    if any(policy.sees != base.COUNTS for policy in tree.policies):
        found.update(vrt.levels(CONF))
    return found


def policy_problem(tree, domains, host_names):
    """Return a solver's Problem with nothing but the topology and the hosts.

    :param tree: Topology
    :param domains: host_domains.Domains
    :param host_names: {compute node's name: its host's name}
    """
    domains_of = domains.of_hosts({*host_names.values()})
    return problems.Problem(
        levels=tuple(vrt.levels(CONF)),
        hosts={
            node: problems.Host(node, domains_of[host], free={}, foreign=False)
            for node, host in sorted(host_names.items())
        },
        classes={},
        topology=tree,
        pinned={},
        outsiders={},
        time_limit=0,
        seed=0,
    )
