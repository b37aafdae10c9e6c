# SPDX-License-Identifier: Apache-2.0
"""The tenant's quota: what is held counts like what runs.

Holds are written under a project of their own, so Nova does not see them; it
is asked for limits and for the servers there are, whichever quota driver the
operator has chosen. Limits of single users are not looked at.
"""

import collections

from nova import objects
from nova import quota
from nova.i18n import _
from nova.limit import placement as nova_limits
from nova.limit import utils as limit_utils
from oslo_limit import exception as limit_exc

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import member as member_obj
from nova_groupext.objects import usage
from nova_groupext.objects.member import VRTMember

# What Nova's unified limits call it: what everybody else does.
RESOURCES = nova_limits.LEGACY_LIMITS


def serialised(context, project_id, work):
    """Do some work while nobody else counts or holds for a project.

    What it checks and writes is one transaction: of two that want the last
    slot the second finds it taken.

    :param work: called without arguments, perhaps more than once
    :returns: what the work returns
    """
    db.ensure(context, models.Project, project_id=project_id)
    return db.locked(context, models.Project, work, project_id=project_id)


def check(context, project_id, members, besides=(), growing=()):
    """Refuse to hold more than the project may have.

    Only within serialised() it is certain that the answer stays true.

    :param members: VRTMembers that are to be held
    :param growing: VRTMembers that are servers, for the resizes of which
        something is to be held; these count what is more
    :param besides: ids of members that these replace
    :raises: LimitExceeded, naming each resource and how much it is over
    """
    known = [each.id for each in members if each.obj_attr_is_set('id')]
    tallies = VRTMember.tally_held(
        context, project_id, besides=[*known, *besides]
    )
    _check_number(sum(count for _member, count in tallies), len(members))
    wanted = _sum((member, 1) for member in members) + _more(growing)
    held, quotas = _count(context, project_id, tallies, besides)
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


def shown(context, project_id):
    """Return {resource: {limit, used, held}} of a project; -1 is no limit.

    What is held is besides what is used.
    """
    tallies = VRTMember.tally_held(context, project_id)
    held, quotas = _count(context, project_id, tallies)
    number = sum(count for _member, count in tallies)
    return {
        **{
            name: {
                'limit': quotas[name]['limit'],
                'used': quotas[name]['in_use'],
                'held': max(0, held[name]),
            }
            for name in RESOURCES.values()
        },
        'held_members': {
            'limit': CONF.vrt.max_held_members_per_project,
            'used': 0,
            'held': number,
        },
    }


def _count(context, project_id, tallies, besides=()):
    """Return ({resource: how much is held}, Nova's quotas).

    :param tallies: [(VRTMember, how many like it are held)]
    :param besides: ids of members that do not count
    """
    # What is held is counted before what is being built, and that before what
    # runs: what becomes the next meanwhile may count twice, but never not at
    # all.
    held = _sum(tallies) + _more(
        VRTMember.list_growing(context, project_id, besides)
    )
    held.update(_not_in_a_cell_yet(context, project_id))
    held.subtract(_counted_by_nova(context, project_id))
    return held, quota.QUOTAS.get_project_quotas(context, project_id)


def _check_number(held, wanted):
    limit = CONF.vrt.max_held_members_per_project
    if 0 <= limit < held + wanted:
        raise exception.LimitExceeded(
            reason=f'{wanted} members are asked for and {held} are held: the '
            f'VRT groups of a project may hold {limit} members in all.'
        )


def _counted_by_nova(context, project_id):
    """Return {resource: amount} of held members that Nova counts as well.

    While a member's server is being created there are both for a moment: a
    server that has a cell is counted there, and where Nova counts mappings,
    one that has none is an instance already.
    """
    members = VRTMember.list_redeeming(context, project_id)
    # What Nova could not place is in cell0 and has not become the member.
    cells = {
        uuid: cell
        for uuid, cell in _cells(context, members).items()
        if not (cell and cell.is_cell0())
    }
    counted = _sum((m, 1) for m in members if cells.get(m.server_uuid))
    if _nova_counts_mappings():
        counted['instances'] = len(cells)
    return counted


def _not_in_a_cell_yet(context, project_id):
    """Return {resource: amount} of servers that nobody counts otherwise.

    Their holds are redeemed, and they are written to their cells only when
    all of their request are scheduled. Where Nova counts in the cells it does
    not see them until then; where it counts mappings and what is in Placement
    it does. A create of which nothing is heard for a lease is given up.
    """
    if _nova_counts_mappings():
        return {}
    members = usage.redeemed_since(
        context, project_id, clock.now(-CONF.vrt.lease)
    )
    # One without a mapping was deleted before it was written to a cell.
    cells = _cells(context, members)
    waiting = {uuid for uuid, cell in cells.items() if cell is None}
    return _sum((m, 1) for m in members if m.server_uuid in waiting)


def _nova_counts_mappings():
    """Tell whether Nova counts mappings, and amounts in Placement."""
    return (
        CONF.quota.count_usage_from_placement
        or limit_utils.use_unified_limits()
    )


def _cells(context, members):
    """Return {server uuid: CellMapping or None} of those that are mapped."""
    if not members:
        return {}
    mappings = objects.InstanceMappingList.get_by_instance_uuids(
        context, [member.server_uuid for member in members]
    )
    return {each.instance_uuid: each.cell_mapping for each in mappings}


def _sum(tallies):
    """Return {resource: amount} of members, each counted so many times."""
    total = collections.Counter()
    for member, count in tallies:
        flavor = member.request['flavor']['nova_object.data']
        total['instances'] += count
        total['cores'] += count * flavor['vcpus']
        total['ram'] += count * flavor['memory_mb']
    return total


def _more(members):
    """Return {resource: amount} by which servers are to grow.

    As Nova counts when they are resized: nothing for what becomes less.
    """
    total = collections.Counter()
    for member in members:
        flavor = member_obj.flavor_of(member.request)
        now = member.server_flavor
        total['cores'] += max(0, flavor['vcpus'] - now['vcpus'])
        total['ram'] += max(0, flavor['memory_mb'] - now['memory_mb'])
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
