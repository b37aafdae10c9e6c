# SPDX-License-Identifier: Apache-2.0
"""Response bodies of members, and the ids that tenants see of domains."""

import collections
import hashlib
import hmac

from nova import utils

from nova_groupext.api.views import faults
from nova_groupext.conf import CONF
from nova_groupext.objects import keys
from nova_groupext.objects import states
from nova_groupext.objects.member import flavor_of
from nova_groupext.solver.language import paths

# Statuses of members that have a host.
WITH_HOST = (
    states.Member.HELD,
    states.Member.REDEEMING,
    states.Member.ACTIVE,
)


def domain_id(project_id, level, name):
    """Return the id that tenants see instead of a domain's name.

    A domain has one id in all groups of a project and a different id in every
    other project. The id is the hexadecimal HMAC-SHA-224 of the project id,
    the level and the name, concatenated without separator, under the cloud's
    secret key. Without the key nobody can verify a guessed name. Zones are
    public and keep their name.
    """
    if level == 'zone':
        return name
    text = f'{project_id}{level}{name}'
    key = CONF.vrt.domain_key or keys.get_cached(keys.DOMAIN_KEY)
    return hmac.new(key.encode(), text.encode(), hashlib.sha224).hexdigest()


def member_views(group, plan, reservations, may_see_hosts):
    """Return the status and the location of each member.

    A successor is shown with the server that it succeeds, or may succeed.

    :param plan: the group's VRTPlan, or None
    :param reservations: {member id: VRTHold}, the resize reservations
    :param may_see_hosts: whether to include the fields for admins
    """
    beyond = _beyond_count(group)
    successors = _successors(group)
    return [
        _member(group, each, plan, may_see_hosts)
        | {'resize': _resize(each, reservations.get(each.id), may_see_hosts)}
        | {'pending': _pending(each)}
        | {'successor': successors.get(each.path)}
        | beyond.get(each.path, {'grown': False})
        for each in _in_order(group)
        if not each.is_successor
    ]


def _in_order(group):
    """Return the members in the order of the definition and their indexes."""
    order = {each.path: n for n, each in enumerate(group.member_sets)}
    return sorted(
        group.members,
        key=lambda each: (
            order.get(each.member_set, len(order)),
            paths.split_index(each.path),
        ),
    )


def _successors(group):
    """Return {path of a member: view of the successor of its server}.

    Those that name no member are shown with the servers that have none, in the
    order of the paths: any of them may go first.
    """
    successors = [each for each in group.members if each.is_successor]
    named = {each.succeeds: each for each in successors}
    running = [
        each
        for each in group.members
        if each.status in states.MEMBER_HAS_SERVER and not each.is_successor
    ]
    shown = {
        each.path: named[each.path] for each in running if each.path in named
    }
    waiting = [each for each in successors if each not in shown.values()]
    for successor in waiting:
        free = [
            each.path
            for each in running
            if each.member_set == successor.member_set
            and each.path not in shown
        ]
        if free:
            shown[min(free, key=paths.split_index)] = successor
    return {
        path: {'server_id': each.own_server, 'status': each.status}
        for path, each in shown.items()
    }


def _beyond_count(group):
    """Return {path: fields} of the members beyond the count of their sets.

    Only their number counts: those with the highest indexes are shown as such.
    Servers beyond what the definition allows are LEAVING.
    """
    placed = collections.defaultdict(list)
    for member in group.members:
        if member.status in states.MEMBER_PLACED and not member.is_successor:
            placed[member.member_set].append(member)
    fields = {}
    for described in group.member_sets:
        wanted, limit = described.wanted, described.limit
        members = placed[described.path]
        if len(members) > wanted:
            members.sort(key=lambda each: paths.split_index(each.path))
            for number, member in enumerate(members[wanted:], wanted + 1):
                fields[member.path] = {'grown': number <= limit}
                if number > limit and member.server_uuid is not None:
                    fields[member.path]['status'] = states.LEAVING
    return fields


def _member(group, member, plan, may_see_hosts):
    placement = None
    if plan and _has_host(group, member):
        placement = plan.placements.get(member.path)
    view = {
        'path': member.path,
        'status': member.status,
        'server_id': _server_id(member),
        'expires_at': _expiry(group, member),
        'domains': domain_ids(group, placement.domains if placement else {}),
        'fault': faults.view_of(member),
    }
    if may_see_hosts:
        view['host'] = placement and placement.host
    return view


def _server_id(member):
    """Return the id of a member's server; None for one that is deleted."""
    is_described = member.status == states.Member.TENTATIVE
    return None if is_described else member.server_uuid


def _expiry(group, member):
    """Return when the hold of a member ends; None for other members.

    One that waits for its server lasts as long as the server waits.
    """
    is_held = member.status == states.Member.HELD
    is_free = is_held and member.reserved_for is None
    return utils.isotime(group.expires_at) if is_free else None


def _resize(member, reservation, may_see_hosts):
    """Return the pending resize of a member's server, or None."""
    if member.status != states.Member.ACTIVE or not member.has_other_flavor:
        return None
    view = {
        'from': flavor_of(member.server_request)['name'],
        'to': flavor_of(member.resolved_request)['name'],
        'held': reservation is not None,
    }
    if may_see_hosts:
        view['host'] = reservation and reservation.host
    return view


def _pending(member):
    """Return what of a server differs from its description, or None.

    A flavor or image that was changed since is still what is described.
    """
    has_server = member.status in states.MEMBER_HAS_SERVER
    if member.server_request is None or not has_server:
        return None
    present, described = (
        {
            'flavor': flavor_of(request)['name'],
            'image': request['image_id'],
            'availability_zone': request['availability_zone'],
        }
        for request in (member.server_request, member.resolved_request)
    )
    names = [name for name in present if present[name] != described[name]]
    if not names:
        return None
    return {
        'from': {name: present[name] for name in names},
        'to': {name: described[name] for name in names},
    }


def domain_ids(group, domains):
    """Return {level: id} for {level: domain}."""
    return {
        level: domain_id(group.project_id, level, name)
        for level, name in domains.items()
    }


def _has_host(group, member):
    """Check whether the plan's host of a member applies to it."""
    if member.status == states.Member.TENTATIVE:
        return group.status == states.Group.PLANNED
    return member.status in WITH_HOST
