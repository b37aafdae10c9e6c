# SPDX-License-Identifier: Apache-2.0
"""What every handler does with the group that a request is about."""

from oslo_log import log as logging
import oslo_messaging as messaging

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.planners import VRTPlanner
from nova_groupext.policies import vrt_groups as policies

LOG = logging.getLogger(__name__)

NO_PLANNER = 'No planner runs at the moment; it is planned when one does.'


def find(context, rule, group_id, given=None):
    """Return a group on which the rule allows something.

    :param given: what the request says; its ``generation``, if it has one, is
        the one that its sender has seen
    :raises: GroupNotFound for a deleted group, for other projects', and for
        the draft of a group
    :raises: GenerationConflict when the sender has seen another one
    """
    group = VRTGroup.get(context, group_id)
    target = {'project_id': group.project_id}
    is_own = group.project_id == context.project_id
    if not is_there(group) or not (
        is_own or context.can(rule, target, fatal=False)
    ):
        raise exception.GroupNotFound(group=group_id)
    context.can(rule, target)
    seen = (given or {}).get('generation')
    if seen is not None and int(seen) != group.generation:
        raise exception.GenerationConflict(group=group_id)
    return group


def is_there(group):
    """Tell whether tenants know of a group: it is no draft nor deleted."""
    return group.status != states.Group.RELEASING and group.revises_id is None


def sees_hosts(context, group):
    """Tell whether to show what only admins see."""
    return context.can(
        policies.SHOW_PLACEMENT, {'project_id': group.project_id}, fatal=False
    )


def note_absence(context, found):
    """Write into groups that wait that no planner runs, if that is so.

    :param found: VRTGroups, drafts among them
    """
    waiting = [
        group
        for group in found
        if group.status == states.Group.PLANNING and group.fault is None
    ]
    interval = CONF.vrt.heartbeat_interval
    if waiting and not VRTPlanner.is_any_heard(context, interval):
        for group in waiting:
            group.fault = NO_PLANNER


def check_exclusive(context, group, parsed):
    """Check the right to what a description wants to have for itself.

    :param parsed: Topology
    """
    if any(policy.type == 'exclusive' for policy in parsed.policies):
        context.can(policies.EXCLUSIVE, {'project_id': group.project_id})


def tell(cast, context, *args):
    """Tell a planner; what none was told, they find by themselves.

    :param args: what it is told
    """
    try:
        cast(context, *args)
    except messaging.MessagingException:
        LOG.exception('No planner was told of what waits: %s', args)
