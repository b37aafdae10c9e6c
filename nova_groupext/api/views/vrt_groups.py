# SPDX-License-Identifier: Apache-2.0
"""Groups as their owners see them, and as admins do.

What a tenant is shown is listed here by name, so that something new in a plan
stays hidden until somebody thinks about it.
"""

import hashlib
import hmac

from nova import utils
from nova.api.openstack import common

from nova_groupext.api import describe
from nova_groupext.conf import CONF
from nova_groupext.objects import boot as boots
from nova_groupext.objects import keys
from nova_groupext.objects import member as member_obj
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects.plan import VRTPlan

COLLECTION = 'os-vrt-groups'

# Members that have a place.
PLACED = (
    states.Member.HELD,
    states.Member.REDEEMING,
    states.Member.ACTIVE,
)
CONFLICT = ('kind', 'at', 'policy', 'members', 'code', 'text')
REASON = ('code', 'text')
RELAXATION = ('change', 'text')
# Classes are the planner's; no tenant has described one.
CHANGE = (
    'at',
    'policy',
    'scope',
    'strict',
    'members',
    'min_count',
    'min_counts',
)
VIOLATION = ('at', 'policy')

LEFT = (
    'Nothing was heard of the nova-api that created the servers. Boot the '
    'group again to go on.'
)


def domain_id(project_id, level, name):
    """Return what a tenant sees instead of a domain's name.

    The same domain has the same id in all groups of a project and another
    one in every other project. It is the HMAC with SHA-224, in hexadecimal,
    of the project id, the level and the name, written one after the other
    with nothing between them, under the cloud's key: who does not know that
    cannot find out a name by guessing. Zones are public and keep their name.
    """
    if level == 'zone':
        return name
    text = f'{project_id}{level}{name}'
    key = CONF.vrt.domain_key or keys.stored(keys.DOMAINS)
    return hmac.new(key.encode(), text.encode(), hashlib.sha224).hexdigest()


class GroupView(common.ViewBuilder):
    """Builds answers; links are made as Nova makes its own."""

    def summary(self, req, group):
        return {
            'id': group.uuid,
            'name': group.name,
            'status': group.status,
            'generation': group.generation,
            'project_id': group.project_id,
            'links': self._get_links(req, group.uuid, COLLECTION),
        }

    def detail(self, req, group, plans, growths, draft, boot, sees_hosts):
        """Return all of a group.

        :param plans: {group id: VRTPlan}, of the group and its draft
        :param growths: see members()
        :param draft: the VRTGroup that is to become its definition, or None
        :param boot: its VRTBoot, or None
        :param sees_hosts: whether to show what only admins see
        """
        plan = plans.get(group.id)
        shown = {
            **self.summary(req, group),
            'description': group.description,
            'user_id': group.user_id,
            'created_at': _time(group.created_at),
            'updated_at': _time(group.updated_at),
            'expires_at': _time(group.expires_at),
            'topology': describe.as_given(group),
            'members': members(group, plan, growths, sees_hosts),
            'fault': group.fault,
            'refusal': _refusal(group, plan, sees_hosts),
            'violations': _violations(plan, sees_hosts),
            'revision': draft
            and _revision(group, draft, plans.get(draft.id), sees_hosts),
            'drift': drift(group),
            'boot': boot and _boot(boot),
        }
        if sees_hosts:
            answer = plan.answer if plan else {}
            shown['cost'] = answer.get('cost')
            shown['stats'] = answer.get('stats')
        return shown

    def proposal(self, group, proposed, sees_hosts):
        """Return which servers to move, and where to.

        :param proposed: VRTProposal
        """
        moves = []
        for member in group.members:
            seat = proposed.moves.get(member.path)
            if seat is not None:
                move = {
                    'path': member.path,
                    'server_id': member.server_uuid,
                    'domains': _domains(group, seat),
                }
                moves.append(
                    {**move, 'host': seat['host']} if sees_hosts else move
                )
        return {
            'status': proposed.status,
            'fewest': proposed.fewest,
            'created_at': _time(proposed.created_at),
            'moves': moves,
        }

    def members_page(self, req, group_id, found):
        """Return the first of some members, and the link to the others.

        :param found: members as they are shown
        """
        limit, _marker = common.get_limit_and_marker(req)
        page = {'members': found[:limit]}
        if 0 < limit < len(found):
            last = found[limit - 1]['path']
            href = self._get_next_link(
                req, last, f'{COLLECTION}/{group_id}/members'
            )
            page['members_links'] = [{'rel': 'next', 'href': href}]
        return page

    def page(self, req, shown, collection=COLLECTION, *, goes_on=False):
        """Return a list of groups with the link to the next page, if any.

        :param goes_on: whether there are more, whatever limit was asked for
        """
        links = self._get_collection_links(req, shown, collection, 'id')
        if goes_on:
            href = self._get_next_link(req, shown[-1]['id'], collection)
            links = [{'rel': 'next', 'href': href}]
        page = {'vrt_groups': shown}
        if links:
            page['vrt_groups_links'] = links
        return page


def members(group, plan, growths, sees_hosts):
    """Return what becomes of each member, and where it is.

    :param plan: the group's VRTPlan, or None
    :param growths: {member id: VRTHold} of what is held for resizes
    :param sees_hosts: whether to show what only admins see
    """
    return [
        _member(group, each, plan, sees_hosts)
        | {'resize': _resize(each, growths.get(each.id), sees_hosts)}
        for each in group.members
    ]


def _time(value):
    return utils.isotime(value) if value else None


def _member(group, member, plan, sees_hosts):
    seat = {}
    if plan and _has_place(group, member):
        seat = plan.placement.get(member.path, {})
    shown = {
        'path': member.path,
        'status': member.status,
        'server_id': member.server_uuid,
        'domains': _domains(group, seat),
        'fault': member.fault,
    }
    if sees_hosts:
        shown['host'] = seat.get('host')
    return shown


def _resize(member, growth, sees_hosts):
    """Return what a server is to be resized to, None if it need not be."""
    if member.status != states.Member.ACTIVE or not member.server_flavor:
        return None
    shown = {
        'from': member.server_flavor['name'],
        'to': member_obj.flavor_of(member.request)['name'],
        'held': growth is not None,
    }
    if sees_hosts:
        shown['host'] = growth and growth.host
    return shown


def _domains(group, seat):
    return {
        level: domain_id(group.project_id, level, name)
        for level, name in seat.get('domains', {}).items()
    }


def _has_place(group, member):
    """Tell whether the plan's place of a member is, or may become, its own."""
    if member.status == states.Member.TENTATIVE:
        return group.status == states.Group.PLANNED
    return member.status in PLACED


def _held_again(group, draft):
    """Return the paths of members that were released, and would be held."""
    if not draft.hold or draft.elsewhere is not None:
        return []
    drafted = {member.path for member in draft.members}
    return [
        member.path
        for member in group.members
        if member.status == states.Member.RELEASED and member.path in drafted
    ]


def _revision(group, draft, plan, sees_hosts):
    """Return what a group is to become, and why it has not yet."""
    return {
        'status': draft.status,
        'name': draft.name,
        'description': draft.description,
        'created_at': _time(draft.created_at),
        'topology': describe.as_given(draft),
        'servers': revisions.adopted(draft),
        'held_again': _held_again(group, draft),
        'fault': draft.fault,
        'refusal': _refusal(draft, plan, sees_hosts),
    }


def _boot(boot):
    """Return how far the creation of a group's servers has come."""
    status, fault = boot.status, boot.fault
    if status == boots.BOOTING and boot.is_left:
        status, fault = boots.STOPPED, LEFT
    return {
        'status': status,
        'request_id': boot.request,
        'created_at': _time(boot.created_at),
        'updated_at': _time(boot.updated_at),
        'missing': boot.missing,
        'created': boot.created,
        'faults': [
            {'path': path, 'fault': each} for path, each in boot.faults.items()
        ],
        'fault': fault,
    }


def _refusal(group, plan, sees_hosts):
    """Return why the group is REFUSED, None for all others."""
    is_refused = group.status == states.Group.REFUSED
    # Who was deleted since it was read may have no plan any more.
    if not (is_refused and plan and plan.status == VRTPlan.REFUSED):
        return None
    answer = plan.answer
    reason = _only(REASON, [answer.get('reason') or {}], sees_hosts)
    relaxations = _only(RELAXATION, answer['relaxations'], sees_hosts)
    if not sees_hosts:
        relaxations = [
            {**each, 'change': _change(each['change'])} for each in relaxations
        ]
    return {
        'conflict': _only(CONFLICT, answer['conflict'], sees_hosts),
        'minimal': answer['minimal'],
        'reason': reason[0] or None,
        'relaxations': relaxations,
    }


def _change(change):
    """Return what a tenant could change about its description."""
    if 'together' in change:
        return {'together': [_change(part) for part in change['together']]}
    return _only(CHANGE, [change], False)[0]


def _violations(plan, sees_hosts):
    violations = plan.answer['violations'] if plan else []
    return _only(VIOLATION, violations, sees_hosts)


def drift(group):
    """Return which strict policies the members' places break at present."""
    return (group.drift or []) if group.status in states.HOLDS else []


def _only(names, items, sees_all):
    if sees_all:
        return items
    return [
        {name: item[name] for name in names if name in item} for item in items
    ]
