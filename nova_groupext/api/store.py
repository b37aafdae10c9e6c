# SPDX-License-Identifier: Apache-2.0
"""Idempotent creation of a group by its client_token."""

import functools

from oslo_db import exception as db_exc

from nova_groupext import exception
from nova_groupext import quota
from nova_groupext.api import busy
from nova_groupext.api import describe
from nova_groupext.api import resolve
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup


def store(context, group, parsed):
    """Store a group, unless an earlier try of the same request did.

    :param group: VRTGroup, not stored yet
    :param parsed: its topology.Topology
    :returns: (the stored group, whether this call stored it)
    :raises: LimitExceeded, TokenUsed, TooManyPlanned, and the errors of
        resolve.requests()
    """
    made = _made_before(context, group)
    if made is not None:
        return made, False
    requests = resolve.requests(context, parsed.stems)
    for member in group.members:
        member.request = requests[member.stem]
    busy.check(context, group.project_id)
    try:
        quota.check(context, group.project_id, group.members)
        quota.serialised(
            context,
            group.project_id,
            functools.partial(_create, context, group),
        )
    except (db_exc.DBDuplicateEntry, exception.LimitExceeded):
        # A concurrent retry of the same request may have stored the group.
        made = _made_before(context, group)
        if made is None:
            raise
        return made, False
    return group, True


def _made_before(context, group):
    """Return the group that an earlier try of the request stored, or None.

    :raises: TokenUsed if it was another request, or the group was deleted
    """
    if group.client_token is None:
        return None
    made = VRTGroup.get_by_token(context, group.project_id, group.client_token)
    if made is None:
        return None
    if made.status == states.Group.RELEASING:
        raise _token_used(group, 'a VRT group that was deleted')
    if not describe.is_repeated(made, group):
        raise _token_used(group, 'another request')
    return made


def _token_used(group, by):
    return exception.TokenUsed(token=group.client_token, by=by)


def _create(context, group):
    """Insert a new group, unless its project has too many."""
    limit = CONF.vrt.max_groups_per_project
    if VRTGroup.count(context, group.project_id) >= limit:
        raise exception.LimitExceeded(
            reason=f'The project has {limit} VRT groups, which is all it '
            'may have.'
        )
    group.create(context)
