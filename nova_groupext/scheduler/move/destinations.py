# SPDX-License-Identifier: Apache-2.0
"""Destinations of members' moves that keep their group's policies.

1. *refresh*: update the group's rows from Nova before the selection.
2. *filter*: check all hosts at once, and mark the candidates that pass.
3. *insert*, one transaction with a lock on the group: check the selected host
   again, and store the move. So of two conflicting moves the second is
   refused.
4. *claim*: Nova claims the host in Placement. If Placement refuses, delete the
   row.

=========  ================================  =================================
crash      left behind                       finished by
=========  ================================  =================================
after 3    a row of a move that perhaps      follow_servers(): it deletes the
           does not happen                   row once the server does not move
after 4    the same, and the move goes on    the same, with the new location
=========  ================================  =================================

If the group cannot be read, the move goes on and is logged; violations show up
as drift.
"""

from nova.scheduler import utils
from oslo_log import log as logging

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext.db import database_errors
from nova_groupext.objects import move_transitions
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.move import VRTMove
from nova_groupext.scheduler.current import locations
from nova_groupext.scheduler.current import outsiders
from nova_groupext.scheduler.current import policy_check
from nova_groupext.scheduler.follow import server_changes
from nova_groupext.scheduler.placement import marked_requests
from nova_groupext.scheduler.protocol import exclusive_hosts

LOG = logging.getLogger(__name__)


def refresh_group(context, placement_client, ref, server_uuid):
    """Update a group's rows from Nova before one of its servers moves.

    Forced moves are then part of the check, and ended ones are not.
    """
    try:
        group, member = find_member(context, ref, server_uuid)
        if member is not None:
            server_changes.follow_servers(
                context, placement_client, group=group
            )
    except (*database_errors.ANY, exception.VRTException):
        LOG.exception(
            'The servers of VRT group %s could not be read; the move is '
            'checked with their stored locations.',
            ref.group,
        )


def allowed_hosts(context, ref, spec, host_states):
    """Return the hosts that a member's server may move to.

    :param ref: member_ref.MemberRef
    """
    if utils.request_is_rebuild(spec):
        return host_states
    try:
        return _filter_hosts(context, ref, spec.instance_uuid, host_states)
    except database_errors.ANY:
        LOG.exception(
            'The VRT group of server %s could not be read; the server moves '
            'without a policy check.',
            spec.instance_uuid,
        )
        return host_states
    except exception.UnknownPolicyType:
        LOG.exception(
            'Server %s cannot be moved: no host can be judged.',
            spec.instance_uuid,
        )
        return []


def _filter_hosts(context, ref, server_uuid, host_states):
    group, member = find_member(context, ref, server_uuid)
    if member is None:
        return host_states
    if exclusive_hosts.is_confined(group, member.path):
        host_states = [host for host in host_states if _has_reservation(host)]
        if not host_states:
            LOG.warning(
                'Server %(server)s, member %(member)s of VRT group %(group)s, '
                'cannot be moved: its group has a strict exclusive policy.',
                {'server': server_uuid, **ref._asdict()},
            )
    location_of = {
        host.uuid: locations.Location(host.host, host.nodename)
        for host in host_states
    }
    move = Move(context, group, member, set(location_of.values()))
    allowed = []
    for host in host_states:
        location = location_of[host.uuid]
        if move.allows(location):
            host.allocation_candidates = [
                marked_requests.MoveRequest(
                    *(request, move, location),
                    marked_requests.reservation_of(request),
                )
                for request in host.allocation_candidates
            ]
            allowed.append(host)
    return allowed


def _has_reservation(host):
    """Check whether a host has a reservation for the moving server."""
    return any(
        marked_requests.reservation_of(request)
        for request in host.allocation_candidates
    )


def find_member(context, ref, server_uuid):
    """Return (VRTGroup, VRTMember) of a server; (None, None) of no member.

    Hints alone do not make a member: the group may be deleted, or the member
    may have another server. A server that is being adopted is a member of the
    group's draft.
    """
    group = VRTGroup.find(context, ref.group)
    if group is None or group.status == states.Group.RELEASING:
        return None, None
    member = _find_member(context, group, server_uuid)
    return (group, member) if member else (None, None)


def _find_member(context, group, server_uuid):
    """Return a server's VRTMember in a group or its draft; None without."""
    # The hint may name several members, so the server's uuid decides.
    for member in VRTMember.list_by_servers(context, [server_uuid]):
        if member.group_id == group.id:
            return (
                member if member.status in states.MEMBER_HAS_SERVER else None
            )
        draft = VRTGroup.find_by_id(context, member.group_id)
        if draft and draft.revises_id == group.id:
            return member
    return None


def claim(context, request, claim_resources):
    """Store a move, then claim its host.

    :param request: marked_requests.MoveRequest
    :param claim_resources: claims in Placement, called without arguments
    :returns: whether the host is claimed, None if that is unknown; the stored
        move is removed only if Placement has refused
    """
    try:
        with faultpoints.around('moving.insert'):
            row = request.move.start(context, request.location)
    except database_errors.ANY:
        LOG.exception(
            'A move to host %s could not be stored; the server moves anyway.',
            request.location.host,
        )
        return claim_resources()
    except (exception.GroupNotFound, exception.MemberNotFound) as exc:
        LOG.info('A server moves without a policy check: %s', exc)
        return claim_resources()
    if row is None:
        return False
    is_claimed = claim_resources()
    # After None or an error the host may be claimed, now or later.
    if is_claimed is False:
        _delete_move(context, row)
    return is_claimed


def _delete_move(context, row):
    """Remove a move that did not happen; after an error the reaper does."""
    try:
        VRTMove.delete_all(context, [row])
    except database_errors.ANY:
        LOG.exception(
            'Move %s could not be deleted; the reaper deletes it.', row.id
        )


class Move:
    """Move of one server, with the policies of its group.

    :param destinations: locations.Locations that are checked
    """

    def __init__(self, context, group, member, destinations):
        self._member = member
        self._policy_check = policy_check.PolicyCheck(
            context, group, outsiders.locate(context, group)
        )
        self._member_check = self._check_member(
            self._read_locations(context), destinations
        )

    @property
    def is_bound(self):
        """True if any strict policy restricts the member."""
        return self._member_check.is_bound

    def allows(self, location):
        """Check whether all strict policies allow a location."""
        return self._member_check.allows(location.node)

    def cost(self, location):
        """Return the group's cost with the server there; least is best."""
        return self._member_check.cost(location.node)

    def start(self, context, location):
        """Store the move, if the policies allow it at this moment.

        :returns: VRTMove, or None if other moves or a revision of the group
            forbid it now
        :raises: GroupNotFound when the group was deleted, MemberNotFound when
            the server has left it
        """
        group = self._policy_check.group
        row = self._row(location)

        def is_allowed():
            self._refresh(context)
            row.member_id = self._member.id
            present = self._read_locations(context)
            return self._check_member(present, {location}).allows(
                location.node
            )

        if move_transitions.start_move(context, row, is_allowed):
            return row
        if VRTGroup.find_by_id(context, group.id) is None:
            # The group was deleted before the check.
            raise exception.GroupNotFound(group=group.uuid)
        LOG.info(
            'VRT group %(group)s: member %(member)s does not move to '
            '%(host)s because other members have moved meanwhile, or the '
            'group was revised.',
            {
                'group': group.uuid,
                'member': self._member.path,
                'host': location.host,
            },
        )
        return None

    def _row(self, location):
        """Return the VRTMove to a location, not stored."""
        return VRTMove(
            group_id=self._policy_check.group.id,
            member_id=self._member.id,
            server_uuid=self._member.server_uuid,
            host=location.host,
            node=location.node,
        )

    def _refresh(self, context):
        """Reload the group and the member of the server."""
        self._policy_check.refresh(context)
        group = self._policy_check.group
        # An adopted server may have become a member of the group meanwhile.
        member = _find_member(context, group, self._member.server_uuid)
        if member is None:
            raise exception.MemberNotFound(
                group=group.uuid, member=self._member.path
            )
        self._member = member

    def _read_locations(self, context):
        group_id = self._policy_check.group.id
        return self._policy_check.read_locations(
            context, VRTGroup.find_binding_draft(context, group_id)
        )

    def _check_member(self, present, destinations):
        """Return the MemberCheck of the member for these locations."""
        path = self._member.path
        return self._policy_check.check_member(
            present, path, destinations, present.locations.get(path)
        )
