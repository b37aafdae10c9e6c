# SPDX-License-Identifier: Apache-2.0
"""VRT groups and subgroups where a tool takes the id of a server group.

Nova is asked first. Only if it knows no such server group, and the id is that
of a VRT group or of a subgroup, it is treated as such:

* the hint ``group`` of a new server becomes our hints: the server gets any
  member below,
* ``GET /os-server-groups/{id}`` shows it in the form of Nova.
"""

import re

from nova.api.openstack import api_version_request
from nova.api.openstack.compute.schemas import server_groups
from oslo_utils import uuidutils

from nova_groupext import member_ref
from nova_groupext.api import groups
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.policies import rules

HINT = 'group'
SHOW = re.compile(r'(?:/[^/]+)?/os-server-groups/([^/]+)/?\Z')
# Policies that server groups have; soft ones have a prefix.
SERVER_GROUP = server_groups.create_v264['properties']['server_group']
POLICIES = SERVER_GROUP['properties']['policy']['enum']
SOFT = 'soft-'


def shown_id(req):
    """Return the id in a request to show a server group, or None."""
    found = req.method == 'GET' and SHOW.match(req.environ['PATH_INFO'])
    return found[1] if found else None


def show(req, group_id, response):
    """Turn Nova's 404 for a server group into a view of a VRT group.

    :param response: Nova's; changed if there is such a group or subgroup
    """
    found = _find(req.environ['nova.context'], group_id)
    if found is None:
        return
    group, path = found
    servers = [
        member.server_uuid
        for member in group.members
        if _is_below(member.path, path)
        and member.status in states.MEMBER_HAS_SERVER
    ]
    view = {
        'id': group_id,
        'name': path.rpartition('/')[2] or group.name,
        'members': servers,
        **_policy(req, _policy_type(group, path)),
    }
    if api_version_request.is_supported(req, '2.13'):
        view['project_id'], view['user_id'] = group.project_id, group.user_id
    response.status_int = 200
    response.json_body = {'server_group': view}


def member_hints(context, hints):
    """Return a new server's hints with ours instead of ``group``, or None.

    :param hints: the hints of the request, as Nova has refused them
    """
    found = _find(context, hints[HINT])
    if found is None:
        return None
    group, path = found
    others = {name: value for name, value in hints.items() if name != HINT}
    return {
        **others,
        member_ref.GROUP_HINT: group.uuid,
        member_ref.MEMBER_HINT: path or member_ref.ANY,
    }


def _find(context, group_id):
    """Return (VRTGroup, path in it) of an id; None if there is none.

    A group that the requester may not use, or is none of its own project's,
    is not there.
    """
    if not uuidutils.is_uuid_like(group_id):
        return None
    found = VRTGroup.find_with_subgroup(context, group_id)
    if found is None:
        return None
    group, path = found
    target = {'project_id': group.project_id}
    is_usable = (
        groups.is_visible(group)
        and group.project_id == context.project_id
        and context.can(rules.SERVER_GROUP, target, fatal=False)
    )
    return (group, path) if is_usable else None


def _is_below(path, ancestor):
    return not ancestor or path.startswith(f'{ancestor}/')


def _policy_type(group, path):
    """Return the policy of a server group that is most like ours.

    That is the first of a type that server groups have, else the first.
    """
    own = [each for each in group.policies if each.at == path]
    names = [
        each.type
        if each.definition.get('strict', True)
        else f'{SOFT}{each.type}'
        for each in own
    ]
    known = [name for name in names if name in POLICIES]
    return next(iter(known or (each.type for each in own)), None)


def _policy(req, policy):
    if api_version_request.is_supported(req, '2.64'):
        return {'policy': policy, 'rules': {}}
    return {'policies': [policy] if policy else [], 'metadata': {}}
