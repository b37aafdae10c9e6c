# SPDX-License-Identifier: Apache-2.0
"""Idempotent creation of a group by its client_token."""

import functools

from oslo_db import exception as db_exc

from nova_groupext import exception
from nova_groupext import quota
from nova_groupext.api import groups
from nova_groupext.api import resolve
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup


def store(context, group, parsed):
    """Store a group, unless an earlier attempt of the same request did.

    :param group: VRTGroup, not stored yet
    :param parsed: its topology.Topology
    :returns: (the stored group, whether this call stored it)
    :raises: LimitExceeded, TokenUsed, TooManyPlanned, and the errors of
        resolve.requests()
    """
    stored = _find_by_token(context, group)
    if stored is not None:
        return stored, False
    requests = resolve.requests(context, parsed.member_sets)
    for member_set in group.member_sets:
        member_set.resolved_request = requests[member_set.path]
    groups.check_planning_limit(context, group.project_id)
    try:
        quota.check(context, group.project_id, group.members)
        quota.with_project_lock(
            context,
            group.project_id,
            functools.partial(_create, context, group),
        )
    except (db_exc.DBDuplicateEntry, exception.LimitExceeded):
        # A concurrent retry of the same request may have stored the group.
        stored = _find_by_token(context, group)
        if stored is None:
            raise
        return stored, False
    return group, True


def _find_by_token(context, group):
    """Return the group that an earlier attempt of the request stored, or None.

    :raises: TokenUsed if it was another request, or the group was deleted
    """
    if group.client_token is None:
        return None
    stored = VRTGroup.find_by_token(
        context, group.project_id, group.client_token
    )
    if stored is None:
        return None
    if stored.status == states.Group.RELEASING:
        raise _token_used(group, 'a deleted VRT group')
    # Later changes to the stored group do not matter.
    if stored.request_digest != group.request_digest:
        raise _token_used(group, 'a different request')
    return stored


def _token_used(group, by):
    return exception.TokenUsed(token=group.client_token, by=by)


def _create(context, group):
    """Insert a new group, unless its project has too many."""
    limit = CONF.vrt.max_groups_per_project
    if VRTGroup.count(context, group.project_id) >= limit:
        raise exception.LimitExceeded(
            reason=f'The project has {limit} VRT groups, which is the limit; '
            'delete one first.'
        )
    group.create(context)
