# SPDX-License-Identifier: Apache-2.0
"""Action adopt: existing servers become members of a group.

A server must match its member's description, be on a host and have no task in
progress. The planner then checks the hosts of all adopted servers together.
"""

from nova import exception as nova_exc
from nova import objects
from nova.compute import api as compute_api
from nova.compute import utils as compute_utils
from nova.compute import vm_states

from nova_groupext import exception
from nova_groupext.api import descriptions
from nova_groupext.api import groups
from nova_groupext.api import revise
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.member_set import FLAVOR_NEEDS
from nova_groupext.solver.language import validation

SERVERS = '$.adopt.servers'

# VM state that prevents adoption -> action of the tenant that ends it.
REMEDIES = {
    vm_states.BUILDING: 'wait until it is built',
    vm_states.RESIZED: 'confirm or revert its resize first',
    vm_states.SHELVED: 'unshelve it first',
    vm_states.SHELVED_OFFLOADED: 'unshelve it first',
    vm_states.ERROR: 'repair or replace it first',
    vm_states.SOFT_DELETED: 'restore it first',
}


def adopt(context, group, servers):
    """Store a draft of a group in which some members are existing servers.

    :param group: VRTGroup
    :param servers: {member path: server uuid}
    :returns: the draft, a VRTGroup to be planned
    :raises: MemberNotFound, ServerNotFound, MemberStateConflict,
        ServerConflict, DescriptionMismatch, InvalidInput, and the errors of
        revise.adopt()
    """
    if group.is_exclusive:
        raise validation.InvalidInput(
            SERVERS, 'cannot be members of a group with an exclusive policy'
        )
    members = groups.members_without_server(
        *(group, servers),
        'a member with a server cannot adopt another one; delete its server '
        'first',
    )
    nova_api = compute_api.API()
    uuids = {}
    for path, server_uuid in servers.items():
        server = _get_server(context, nova_api, group, server_uuid)
        _check_unique(uuids, path, server.uuid)
        _check(context, members[path], server)
        # Some databases also match another spelling of the uuid.
        uuids[path] = server.uuid
    return revise.adopt(context, group, uuids)


def _get_server(context, nova_api, group, server_uuid):
    """Return Nova's Instance of a server of the group's project.

    :param nova_api: Nova's compute API
    :raises: ServerNotFound, ServerConflict if its cell does not answer
    """
    try:
        server = nova_api.get(context, server_uuid, expected_attrs=['flavor'])
    except nova_exc.InstanceNotFound:
        server = None
    except nova_exc.NovaException as exc:
        raise exception.ServerConflict(
            server=server_uuid,
            reason='its cell does not answer; retry later',
        ) from exc
    if (
        server is None
        or server.project_id != group.project_id
        or server.vm_state == vm_states.DELETED
    ):
        raise exception.ServerNotFound(server=server_uuid)
    return server


def _check_unique(uuids, path, server_uuid):
    """Refuse a server that the request assigns to two members."""
    for other, uuid in uuids.items():
        if uuid == server_uuid:
            raise validation.InvalidInput(
                validation.json_path(SERVERS, path),
                f'is also the server of {validation.quote(other)}',
            )


def _check(context, member, server):
    """Refuse a server that cannot become the member in its present state."""
    _check_state(server)
    _check_owner(context, member, server.uuid)
    differences = _differences(context, server, member.resolved_request)
    if differences:
        raise descriptions.mismatch(context, member.path, differences)


def _check_state(server):
    """Refuse a server that is not on a host or has a task in progress.

    :raises: ServerConflict, which tells the tenant what to do
    """
    reason = None
    if server.vm_state in REMEDIES:
        reason = f'it is {server.vm_state}; {REMEDIES[server.vm_state]}'
    elif server.task_state is not None:
        reason = (
            f'its task state is {server.task_state}; retry when the task has '
            'ended'
        )
    if reason is not None:
        raise exception.ServerConflict(server=server.uuid, reason=reason)


def _check_owner(context, member, server_uuid):
    """Refuse a server that belongs to another member."""
    for owner in VRTMember.list_by_servers(context, [server_uuid]):
        if owner.id == member.id:
            continue
        group = VRTGroup.get_owner(context, owner)
        if owner.is_successor:
            reason = (
                f'it is a successor in VRT group {group.uuid}, and becomes '
                f'{owner.succeeds or "a member"} when that server is gone'
            )
        else:
            reason = (
                f'it is already member {owner.path} of VRT group '
                f'{group.uuid}; remove that member with keep_server '
                '(--keep-server) first'
            )
        raise exception.ServerConflict(server=server_uuid, reason=reason)


def _differences(context, server, request):
    """Return the differences of a server from its member.

    If the member names no zone, the server may have requested any. Otherwise
    the server must have requested that zone: nothing else keeps it there.

    :param server: Nova's Instance; the context targets its cell
    :param request: resolved request of the member, see resolve.requests()
    """
    zone = request['availability_zone']
    if zone is not None:
        zone = _zone(context, server)
    from_volume = compute_utils.is_volume_backed_instance(context, server)
    properties = {
        'flavor': _flavor(server, request),
        'availability zone': zone,
        'boot source': descriptions.boot_source(from_volume),
        'image': server.image_ref,
    }
    described = descriptions.ServerDescription(context, properties)
    return described.differences(request)


def _flavor(server, request):
    """Return a server's flavor id, or a phrase if its amounts are outdated."""
    current, flavor_id = server.flavor, server.flavor.flavorid
    expected = objects.Flavor.obj_from_primitive(request['flavor'])
    if flavor_id == request['flavor_id'] and any(
        getattr(current, name) != getattr(expected, name)
        for name in FLAVOR_NEEDS
    ):
        return f'an older version of {current.name}'
    return flavor_id


def _zone(context, server):
    """Return the availability zone that a server requested, or None."""
    try:
        spec = objects.RequestSpec.get_by_instance_uuid(context, server.uuid)
    except nova_exc.RequestSpecNotFound:
        return None
    return spec.availability_zone
