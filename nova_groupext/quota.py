# SPDX-License-Identifier: Apache-2.0
"""The tenant's quota, which counts holds like servers.

Holds are written under a project of their own, so Nova does not count them.
Nova supplies the limits and the usage of servers, with any quota driver that
the operator has chosen. Per-user limits are ignored.
"""

import collections

from keystoneauth1 import exceptions as ks_exc
from nova import exception as nova_exc
from nova import objects
from nova import quota
from nova.i18n import _
from nova.limit import placement as nova_limits
from nova.limit import utils as limit_utils
from openstack import exceptions as sdk_exc
from oslo_limit import exception as limit_exc

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.member import flavor_of

# {name in Nova's unified limits: legacy quota name}
RESOURCES = nova_limits.LEGACY_LIMITS

# Error of a service that knows limits or usages -> explanation for the tenant
UNAVAILABLE = {
    nova_exc.UsagesRetrievalFailed: _('Placement is not available.'),
    ks_exc.ClientException: _(
        'A service that Nova depends on is not available.'
    ),
    # Unified limits come from Keystone.
    limit_exc.SessionInitError: _('The identity service is not available.'),
    sdk_exc.SDKException: _('The identity service is not available.'),
}


def with_project_lock(context, project_id, work):
    """Run work while no other transaction counts or holds for a project.

    Its checks and writes are one transaction: a concurrent transaction sees
    the capacity that this one has taken.

    :param work: called without arguments, perhaps more than once
    :returns: the result of the work
    """
    db.insert_if_missing(context, models.ProjectLock, project_id=project_id)
    return db.with_row_lock(
        context, models.ProjectLock, work, project_id=project_id
    )


def check(
    context, project_id, members, excluded_ids=(), resizing=(), *, waiting=0
):
    """Raise LimitExceeded if a project may not hold some more members.

    Only within with_project_lock() the result stays valid.

    :param members: VRTMembers that are to be held
    :param resizing: VRTMembers with servers for whose resizes capacity is to
        be held; only their increase counts
    :param excluded_ids: ids of members that these replace
    :param waiting: number of servers that wait in a scheduler for these
        members, and for held ones
    :raises: LimitExceeded, naming each resource and the excess
    """
    stored_ids = [each.id for each in members if each.obj_attr_is_set('id')]
    counts = VRTMember.count_held(
        context, project_id, excluded_ids=[*stored_ids, *excluded_ids]
    )
    _check_number(sum(count for _member, count in counts), len(members))
    requested = _sum_amounts((member, 1) for member in members) + _increases(
        resizing
    )
    if _nova_counts_mappings():
        # Nova counts these instances already.
        requested['instances'] -= waiting
    held, quotas = _count(context, project_id, counts, excluded_ids)
    exceeded = []
    for unified, name in RESOURCES.items():
        limit, used = quotas[name]['limit'], quotas[name]['in_use']
        if 0 <= limit < used + held[name] + requested[name]:
            exceeded.append(
                limit_exc.OverLimitInfo(
                    unified, limit, used + held[name], requested[name]
                )
            )
    if exceeded and _is_enforced(project_id, exceeded):
        raise exception.LimitExceeded(reason=_explain(exceeded))


def check_or_wait(*args, **kwargs):
    """Do as check() does in a planner, which tries again later.

    :raises: QuotaUnavailable also while a service does not answer
    """
    try:
        check(*args, **kwargs)
    except tuple(UNAVAILABLE) as exc:
        raise exception.QuotaUnavailable(reason=exc) from exc


def get_usage(context, project_id):
    """Return {resource: {limit, used, held}} of a project; -1 is no limit.

    The held amount is not included in the used one.
    """
    counts = VRTMember.count_held(context, project_id)
    held, quotas = _count(context, project_id, counts)
    number = sum(count for _member, count in counts)
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


def _count(context, project_id, counts, excluded_ids=()):
    """Return ({resource: held amount}, Nova's quotas).

    :param counts: [(VRTMember, number of held members like it)]
    :param excluded_ids: ids of members that do not count
    """
    # The order is holds, builds, running servers: a member that changes from
    # one to the next meanwhile may count twice, but always counts.
    held = _sum_amounts(counts) + _increases(
        VRTMember.list_resizing(context, project_id, excluded_ids)
    )
    held.update(_count_without_cell(context, project_id))
    held.subtract(_count_in_nova(context, project_id))
    return held, quota.QUOTAS.get_project_quotas(context, project_id)


def _check_number(held, requested):
    limit = CONF.vrt.max_held_members_per_project
    if 0 <= limit < held + requested:
        raise exception.LimitExceeded(
            reason=f'{requested} members requested and {held} already held, '
            f'but the VRT groups of a project may hold at most {limit} '
            'members in total.'
        )


def _count_in_nova(context, project_id):
    """Return {resource: amount} of held members that Nova counts as well.

    Both count a member while its server is being created: Nova counts a server
    that has a cell, and, where it counts instance mappings, also a server
    without a cell as an instance.
    """
    members = VRTMember.list_redeeming(context, project_id)
    # A server in cell0 failed to schedule and is not the member's.
    cells = {
        uuid: cell
        for uuid, cell in _cells_by_server(context, members).items()
        if not (cell and cell.is_cell0())
    }
    amounts = _sum_amounts((m, 1) for m in members if cells.get(m.own_server))
    if _nova_counts_mappings():
        amounts['instances'] = len(cells)
    return amounts


def _count_without_cell(context, project_id):
    """Return {resource: amount} of servers that nothing else counts.

    Their holds are redeemed, but Nova writes them to their cells only when all
    servers of the request are scheduled. Until then Nova does not see them,
    unless it counts mappings and Placement's usage. A create that takes longer
    than a lease counts as abandoned.
    """
    if _nova_counts_mappings():
        return {}
    members = VRTMember.list_redeemed_since(
        context, project_id, clock.now(-CONF.vrt.operation_lease)
    )
    # A server without a mapping was deleted before it had a cell.
    cells = _cells_by_server(context, members)
    without_cell = {uuid for uuid, cell in cells.items() if cell is None}
    return _sum_amounts(
        (m, 1) for m in members if m.server_uuid in without_cell
    )


def _nova_counts_mappings():
    """Check whether Nova counts mappings, and amounts in Placement."""
    return (
        CONF.quota.count_usage_from_placement
        or limit_utils.use_unified_limits()
    )


def _cells_by_server(context, members):
    """Return {server uuid: CellMapping or None} of the mapped servers."""
    if not members:
        return {}
    mappings = objects.InstanceMappingList.get_by_instance_uuids(
        context, [member.own_server for member in members]
    )
    return {each.instance_uuid: each.cell_mapping for each in mappings}


def _sum_amounts(counts):
    """Return {resource: amount} of members, multiplied by their numbers."""
    total = collections.Counter()
    for member, count in counts:
        flavor = member.current_request['flavor']['nova_object.data']
        total['instances'] += count
        total['cores'] += count * flavor['vcpus']
        total['ram'] += count * flavor['memory_mb']
    return total


def _increases(members):
    """Return {resource: amount} by which servers are to grow.

    Decreases count as nothing, as in Nova's resize.
    """
    total = collections.Counter()
    for member in members:
        flavor = flavor_of(member.resolved_request)
        current = flavor_of(member.current_request)
        total['cores'] += max(0, flavor['vcpus'] - current['vcpus'])
        total['ram'] += max(0, flavor['memory_mb'] - current['memory_mb'])
    return total


def _is_enforced(project_id, exceeded):
    """Check whether the exceeded limits apply.

    Unified limits also report 0 where no limit is set.
    """
    return not limit_utils.use_unified_limits() or limit_utils.should_enforce(
        limit_exc.ProjectOverLimit(project_id, exceeded)
    )


def _explain(exceeded):
    return _('Quota exceeded: %s') % '; '.join(
        f'{RESOURCES[info.resource_name]}: {info.delta} requested, '
        f'{info.current_usage} of {info.limit} already used or held, '
        f'{info.current_usage + info.delta - info.limit} over the quota'
        for info in exceeded
    )
