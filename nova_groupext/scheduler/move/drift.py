# SPDX-License-Identifier: Apache-2.0
"""Drift: strict policies that members violate on their present hosts.

A forced move, a host in another rack or a removed member may cause drift. It
is stored and shown as long as it lasts; nothing is moved.
"""

from oslo_log import log as logging

from nova_groupext.objects import relocation
from nova_groupext.scheduler.current import definition
from nova_groupext.scheduler.current import locations
from nova_groupext.solver.model import answers
from nova_groupext.solver.policies import violations

LOG = logging.getLogger(__name__)


def note(context, group, domains):
    """Store the strict policies that a group violates at present.

    :param group: VRTGroup
    :param domains: hosts.Domains
    """
    found = _find(context, group, domains)
    if found != (group.drift or []) and relocation.note_drift(
        context, group, found
    ):
        LOG.info(
            'VRT group %(group)s: these policies do not hold now: %(drift)s',
            {'group': group.uuid, 'drift': found or 'none'},
        )


def _find(context, group, domains):
    """Return [{at, policy}] of the violated strict policies.

    Of `exclusive` only violations by the group itself: maintain.keep() logs
    foreign consumers in its domains.
    """
    tree = definition.read(group)
    now = locations.of(context, group)
    problem = definition.of_places(tree, domains, now.names)
    placement = {path: seat.node for path, seat in now.seats.items()}
    return [
        {'at': policy.at, 'policy': answers.short(policy)}
        for policy in tree.policies
        if policy.strict and violations.is_violated(problem, policy, placement)
    ]
