# SPDX-License-Identifier: Apache-2.0
"""Drift: strict policies that members violate on their present hosts.

A forced move, a host in another rack or a removed member may cause drift. It
is stored and shown as long as it lasts; nothing is moved.
"""

from oslo_log import log as logging

from nova_groupext.objects import move_transitions
from nova_groupext.scheduler.current import definition
from nova_groupext.scheduler.current import locations
from nova_groupext.solver.model import answers
from nova_groupext.solver.model import violations

LOG = logging.getLogger(__name__)


def store(context, group, domains):
    """Store the strict policies that a group violates at present.

    :param group: VRTGroup
    :param domains: hosts.Domains
    """
    drift = _find_violations(context, group, domains)
    if drift != (group.drift or []) and move_transitions.store_drift(
        context, group, drift
    ):
        LOG.info(
            'VRT group %(group)s: violated policies: %(drift)s',
            {'group': group.uuid, 'drift': drift or 'none'},
        )


def _find_violations(context, group, domains):
    """Return [{at, policy}] of the violated strict policies.

    Of exclusive policies only violations by the group itself:
    maintain.maintain() logs foreign consumers in their domains.
    """
    tree = definition.read(group)
    present = locations.read(context, group)
    problem = definition.policy_problem(tree, domains, present.host_names)
    placement = {
        path: location.node for path, location in present.locations.items()
    }
    return [
        {'at': policy.at, 'policy': answers.identify(policy)}
        for policy in tree.policies
        if policy.strict and violations.is_violated(problem, policy, placement)
    ]
