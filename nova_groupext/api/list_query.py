# SPDX-License-Identifier: Apache-2.0
"""The groups of a list: filters, order and pages of its query."""

from nova.api.openstack import common
from oslo_utils import strutils
from oslo_utils import timeutils

from nova_groupext import exception
from nova_groupext.api import resource
from nova_groupext.api.schemas import request_schemas
from nova_groupext.objects import listing
from nova_groupext.objects.group import VRTGroup
from nova_groupext.policies import rules
from nova_groupext.solver.language import validation

CHANGES_SINCE = 'changes-since'


def find_groups(req, context):
    """Return the VRTGroups of a page, without their parts.

    :raises: InvalidInput, PolicyNotAuthorized
    """
    parameters = resource.query(req, request_schemas.LIST)
    limit, _marker = common.get_limit_and_marker(req)
    try:
        return VRTGroup.list(
            context,
            marker=_marker_values(parameters),
            limit=limit,
            sort_key=_sort_key(parameters),
            is_descending=parameters.get('sort_dir') == 'desc',
            **_filters(context, parameters),
        )
    except exception.GroupNotFound as exc:
        raise validation.InvalidInput(
            'query.marker', exc.format_message()
        ) from exc


def next_marker(req, listed, shown):
    """Return the marker of the next page, or None after the last page.

    :param listed: VRTGroups within the limit of the page
    :param shown: the first of them, which the page contains
    """
    limit, _marker = common.get_limit_and_marker(req)
    if not shown or len(shown) == len(listed) < limit:
        return None
    return listing.marker_of(shown[-1], _sort_key(req.GET))


def _sort_key(parameters):
    return parameters.get('sort_key', listing.CREATED_AT)


def _marker_values(parameters):
    """Return the values of the marker, see listing.parse_marker(), or None."""
    if 'marker' not in parameters:
        return None
    try:
        return listing.parse_marker(
            parameters['marker'], _sort_key(parameters)
        )
    except ValueError as exc:
        raise validation.InvalidInput(
            'query.marker', 'is not the id of a group'
        ) from exc


def _filters(context, parameters):
    """Return the filters of a list, restricted by the caller's rights."""
    filters = {
        name: parameters[name]
        for name in listing.FILTERS
        if name in parameters
    }
    if CHANGES_SINCE in filters:
        filters[CHANGES_SINCE] = _time(filters[CHANGES_SINCE])
    # Nova's clients send all_tenants.
    is_all_projects = any(
        strutils.bool_from_string(parameters.get(name))
        for name in ('all_projects', 'all_tenants')
    )
    if is_all_projects or 'project_id' in filters:
        context.can(rules.ALL_PROJECTS, {'project_id': context.project_id})
    else:
        filters['project_id'] = context.project_id
    return filters


def _time(text):
    """Return a naive UTC datetime, as in the tables."""
    try:
        return timeutils.normalize_time(timeutils.parse_isotime(text))
    # OverflowError: the conversion to UTC leaves the range of datetime.
    except (ValueError, OverflowError) as exc:
        raise validation.InvalidInput(
            f'query.{CHANGES_SINCE}', 'is not an ISO 8601 time'
        ) from exc
