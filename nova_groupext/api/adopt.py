# SPDX-License-Identifier: Apache-2.0
"""adopt: servers that run already become members.

What a server is has to be what its member describes, and it has to rest where
it is. Whether it may stay there the planners decide, for all at once.
"""

from nova import exception as nova_exc
from nova import objects
from nova.compute import api as compute_api
from nova.compute import utils as compute_utils
from nova.compute import vm_states

from nova_groupext import exception
from nova_groupext.api import hints
from nova_groupext.api import revise
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.planner import invalid

SERVERS = '$.adopt.servers'

# What has to be done before a server in such a state can be adopted.
FIRST = {
    vm_states.BUILDING: 'wait until it is built',
    vm_states.RESIZED: 'confirm or revert its resize first',
    vm_states.SHELVED: 'unshelve it first',
    vm_states.SHELVED_OFFLOADED: 'unshelve it first',
    vm_states.ERROR: 'mend it, or replace it, first',
    vm_states.SOFT_DELETED: 'restore it first',
}

# What of a flavor a server has got; the rest is no concern of a host's.
_AMOUNTS = (
    'vcpus',
    'memory_mb',
    'root_gb',
    'ephemeral_gb',
    'swap',
    'extra_specs',
)


def adopt(context, group, servers):
    """Store the draft of a group in which some members are these servers.

    :param group: VRTGroup
    :param servers: {member path: server uuid}
    :returns: the draft, a VRTGroup that is to be planned
    :raises: MemberNotFound, ServerNotFound, MemberStateConflict,
        ServerConflict, DescriptionMismatch, InvalidInput, and as
        revise.revise() does
    """
    if group.has_policy('exclusive'):
        raise invalid.InvalidInput(
            SERVERS, 'cannot be members of a group with a policy "exclusive"'
        )
    members = _members(group, servers)
    known = compute_api.API()
    uuids = {}
    for path, server_uuid in servers.items():
        server = _find(context, known, group, server_uuid)
        _check_once(uuids, path, server.uuid)
        _check(context, members[path], server)
        # Some databases find it by another spelling of that, too.
        uuids[path] = server.uuid
    return revise.adopt(context, group, uuids)


def _members(group, servers):
    """Return {path: VRTMember} of the members that get a server."""
    members = {member.path: member for member in group.members}
    for path in servers:
        if path not in members:
            raise exception.MemberNotFound(group=group.uuid, member=path)
    taken = [members[p] for p in servers if members[p].status in states.IN_USE]
    if taken:
        raise revise.in_use(taken, 'a server is there already; delete that')
    return {path: members[path] for path in servers}


def _find(context, known, group, server_uuid):
    """Return Nova's Instance of a server of the group's project.

    :param known: Nova's compute API
    """
    try:
        server = known.get(context, server_uuid, expected_attrs=['flavor'])
    except nova_exc.InstanceNotFound:
        server = None
    except nova_exc.NovaException as exc:
        raise exception.ServerConflict(
            server=server_uuid,
            reason='its cell does not answer; try again later',
        ) from exc
    if (
        server is None
        or server.project_id != group.project_id
        or server.vm_state == vm_states.DELETED
    ):
        raise exception.ServerNotFound(server=server_uuid)
    return server


def _check_once(uuids, path, server_uuid):
    """Refuse a server that another member gets."""
    for other, uuid in uuids.items():
        if uuid == server_uuid:
            raise invalid.InvalidInput(
                invalid.child(SERVERS, path),
                f'is the server of {invalid.quote(other)} too',
            )


def _check(context, member, server):
    """Refuse a server that cannot become the member as it is."""
    _check_state(server)
    _check_owner(context, member, server.uuid)
    found = _differences(context, server, member.request)
    if found:
        raise exception.DescriptionMismatch(
            member=member.path, reason='; '.join(found)
        )


def _check_state(server):
    """Refuse a server that is not at rest on a host.

    :raises: ServerConflict that says what to do
    """
    reason = None
    if server.vm_state in FIRST:
        reason = f'it is {server.vm_state}; {FIRST[server.vm_state]}'
    elif server.task_state is not None:
        reason = f'it is {server.task_state}; wait until that is over'
    if reason is not None:
        raise exception.ServerConflict(server=server.uuid, reason=reason)


def _check_owner(context, member, server_uuid):
    """Refuse a server that is another member already."""
    for owner in VRTMember.list_by_servers(context, [server_uuid]):
        if owner.id != member.id:
            group = VRTGroup.get_owner(context, owner)
            raise exception.ServerConflict(
                server=server_uuid,
                reason=f'it is member {owner.path} of VRT group {group.uuid}; '
                'remove that with keep_server (--keep-server) first',
            )


def _differences(context, server, request):
    """Return what of a server is not as described, as phrases.

    Where the description names no zone, the server may have asked for one;
    where it does, only what the server has asked for keeps it there.

    :param server: Nova's Instance; the context is that of its cell
    :param request: what Nova knows of the member, see resolve.requests()
    """
    zone = request['availability_zone']
    if zone is not None:
        zone = _zone(context, server)
    from_volume = compute_utils.is_volume_backed_instance(context, server)
    asked = {
        'flavor': _flavor(server, request),
        'availability zone': zone,
        'boot source': hints.boot_source(from_volume),
        'image': server.image_ref,
    }
    return hints.compare(asked, request)


def _flavor(server, request):
    """Return what to call a server's flavor, compared with a member's."""
    own, flavor_id = server.flavor, server.flavor.flavorid
    described = objects.Flavor.obj_from_primitive(request['flavor'])
    if flavor_id == request['flavor_id'] and any(
        getattr(own, name) != getattr(described, name) for name in _AMOUNTS
    ):
        return f'what {flavor_id} was at another time'
    return flavor_id


def _zone(context, server):
    """Return the availability zone that a server has asked for, or None."""
    try:
        spec = objects.RequestSpec.get_by_instance_uuid(context, server.uuid)
    except nova_exc.RequestSpecNotFound:
        return None
    return spec.availability_zone
