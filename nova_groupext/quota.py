# SPDX-License-Identifier: Apache-2.0
"""The tenant's quota: what is held counts like what runs.

Holds are written under a project of their own, so Nova does not see them; it
is asked for limits and for the servers there are, whichever quota driver the
operator has chosen. Limits of single users are not looked at.
"""

import collections

from nova import quota
from nova.i18n import _
from nova.limit import placement as nova_limits
from nova.limit import utils as limit_utils
from oslo_limit import exception as limit_exc

from nova_groupext import exception
from nova_groupext.objects.member import VRTMember

# What Nova's unified limits call it: what everybody else does.
RESOURCES = nova_limits.LEGACY_LIMITS


def check(context, project_id, members):
    """Refuse to hold more than the project may have.

    :param members: VRTMembers that are not held yet
    :raises: LimitExceeded, naming each resource and how much it is over
    """
    wanted = _sum((member, 1) for member in members)
    held = _sum(VRTMember.tally_held(context, project_id))
    quotas = quota.QUOTAS.get_project_quotas(context, project_id)
    over = []
    for unified, name in RESOURCES.items():
        limit, used = quotas[name]['limit'], quotas[name]['in_use']
        if 0 <= limit < used + held[name] + wanted[name]:
            over.append(
                limit_exc.OverLimitInfo(
                    unified, limit, used + held[name], wanted[name]
                )
            )
    if over and _is_enforced(project_id, over):
        raise exception.LimitExceeded(reason=_explain(over))


def _sum(tallies):
    """Return {resource: amount} of members, each counted so many times."""
    total = collections.Counter()
    for member, count in tallies:
        flavor = member.request['flavor']['nova_object.data']
        total['instances'] += count
        total['cores'] += count * flavor['vcpus']
        total['ram'] += count * flavor['memory_mb']
    return total


def _is_enforced(project_id, over):
    """Unified limits say 0 as well where nobody has set a limit."""
    return not limit_utils.use_unified_limits() or limit_utils.should_enforce(
        limit_exc.ProjectOverLimit(project_id, over)
    )


def _explain(over):
    return _('Quota exceeded: %s') % '; '.join(
        f'{RESOURCES[info.resource_name]}: {info.delta} asked for, '
        f'{info.current_usage} of {info.limit} used or held, '
        f'{info.current_usage + info.delta - info.limit} too many'
        for info in over
    )
