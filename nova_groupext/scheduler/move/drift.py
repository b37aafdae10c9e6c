# SPDX-License-Identifier: Apache-2.0
"""Which strict policies do not hold any more where everybody is now.

A server was moved past the scheduler, a host was put into another rack, a
member is gone: nothing is done about it, but it is said as long as it is so.
"""

from oslo_log import log as logging

from nova_groupext.objects import relocation
from nova_groupext.planner import answer
from nova_groupext.planner import rules
from nova_groupext.scheduler.look import definition
from nova_groupext.scheduler.look import positions

LOG = logging.getLogger(__name__)


def note(context, group, domains):
    """Store what the places of a group's members break at present.

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
    """Return [{at, policy}] of the strict policies that are broken.

    Of `exclusive` only what the group itself breaks: strangers in its domains
    are told of by who keeps them out.
    """
    tree = definition.read(group)
    now = positions.of(context, group)
    problem = definition.of_places(tree, domains, now.names)
    placement = {path: seat.node for path, seat in now.seats.items()}
    return [
        {'at': policy.at, 'policy': answer.short(policy)}
        for policy in tree.policies
        if policy.strict and rules.is_broken(problem, policy, placement)
    ]
