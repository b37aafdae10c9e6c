# SPDX-License-Identifier: Apache-2.0
"""Response bodies of groups, for their owners and for admins.

Tenants see only the fields of plans that are listed here by name, so a new
field stays hidden from them by default.
"""

from nova import utils
from nova.api.openstack import common

from nova_groupext.api import describe
from nova_groupext.api.views import faults
from nova_groupext.api.views import member_views
from nova_groupext.objects import drafts
from nova_groupext.objects import states
from nova_groupext.objects.boot import BOOTING
from nova_groupext.objects.boot import STOPPED
from nova_groupext.objects.group import subgroup_id
from nova_groupext.objects.plan import VRTPlan

COLLECTION = 'os-vrt-groups'

CONFLICT = ('kind', 'at', 'policy', 'members', 'subtree', 'code', 'text')
REASON = ('code', 'text')
RELAXATION = ('change', 'text')
# Without ``class``: classes are internal to the planner.
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

BOOT_ABANDONED = (
    'The nova-api that created the servers no longer responds. Boot the '
    'group again to create the remaining servers.'
)


class GroupView(common.ViewBuilder):
    """Builder of response bodies, with links like those of Nova."""

    def summary(self, req, group):
        return {
            'id': group.uuid,
            'name': group.name,
            'status': group.status,
            'generation': group.definition_generation,
            'project_id': group.project_id,
            'links': self._get_links(req, group.uuid, COLLECTION),
        }

    def detail(
        self,
        req,
        group,
        plans,
        reservations,
        draft,
        boot,
        events,
        may_see_hosts,
    ):
        """Return the details of a group.

        :param plans: {group id: VRTPlan} of the group and its draft
        :param reservations: see member_views()
        :param draft: VRTGroup with the revised definition, or None
        :param boot: its VRTBoot, or None
        :param events: its VRTEvents, the newest first
        :param may_see_hosts: whether to include the fields for admins
        """
        plan = plans.get(group.id)
        view = {
            **self.summary(req, group),
            **_definition(group),
            **_times(group),
            'members': member_views.member_views(
                group, plan, reservations, may_see_hosts
            ),
            'fault': faults.view_of(group),
            'refusal': _refusal(group, plan, may_see_hosts),
            'violations': _violations(plan, may_see_hosts),
            'revision': draft
            and _revision(group, draft, plans.get(draft.id), may_see_hosts),
            'drift': drift(group),
            'boot': boot and _boot(boot),
            'events': [_event(each) for each in events],
        }
        return view | _answer(plan) if may_see_hosts else view

    def proposal(self, group, vrt_proposal, may_see_hosts):
        """Return the servers to move and their destinations.

        :param vrt_proposal: VRTProposal
        """
        moves = []
        for member in group.members:
            placement = vrt_proposal.moves.get(member.path)
            if placement is not None:
                domains = member_views.domain_ids(group, placement['domains'])
                move = {
                    'path': member.path,
                    'server_id': member.server_uuid,
                    'domains': domains,
                }
                if may_see_hosts:
                    move['host'] = placement['host']
                moves.append(move)
        return {
            'status': vrt_proposal.status,
            'fewest': vrt_proposal.fewest,
            'created_at': _time(vrt_proposal.created_at),
            'moves': moves,
        }

    def members_page(self, req, group_id, views):
        """Return a page of members, with a link to the next page if any.

        :param views: member views, those of later pages included
        """
        limit, _marker = common.get_limit_and_marker(req)
        has_more = 0 < limit < len(views)
        last = views[limit - 1]['path'] if has_more else None
        collection = f'{COLLECTION}/{group_id}/members'
        return {
            'members': views[:limit],
            **self._next_links(req, 'members', last, collection),
        }

    def page(self, req, views, marker=None, collection=COLLECTION):
        """Return a list of groups with the link to the next page, if any.

        :param marker: marker of the next page, or None
        """
        return {
            'vrt_groups': views,
            **self._next_links(req, 'vrt_groups', marker, collection),
        }

    def _next_links(self, req, name, marker, collection):
        """Return the property with the link to the next page, if any."""
        if marker is None:
            return {}
        href = self._get_next_link(req, marker, collection)
        return {f'{name}_links': [{'rel': 'next', 'href': href}]}


def _time(value):
    return utils.isotime(value) if value else None


def _definition(group):
    """Return what the tenant has described, and who did."""
    return {
        'description': group.description,
        'user_id': group.user_id,
        'topology': describe.compose_topology(group),
        'subgroups': {
            path: subgroup_id(group.uuid, path) for path in group.subgroups
        },
    }


def _times(group):
    names = ('created_at', 'updated_at', 'expires_at')
    return {name: _time(getattr(group, name)) for name in names}


def _answer(plan):
    """Return what admins see of a plan's answer."""
    answer = plan.answer if plan else {}
    return {name: answer.get(name) for name in ('cost', 'stats')}


def _paths_to_hold_again(group, draft):
    """Return the paths of RELEASED members that the draft would hold."""
    if not draft.hold_when_planned or not draft.is_requested:
        return []
    drafted = {member.path for member in draft.members}
    return [
        member.path
        for member in group.members
        if member.status == states.Member.RELEASED and member.path in drafted
    ]


def _revision(group, draft, plan, may_see_hosts):
    """Return the pending revision of a group and its fault or refusal."""
    return {
        'status': draft.status,
        'origin': draft.origin,
        'name': draft.name,
        'description': draft.description,
        'created_at': _time(draft.created_at),
        'topology': describe.compose_topology(draft),
        'servers': drafts.servers_to_adopt(draft),
        'held_again': _paths_to_hold_again(group, draft),
        'fault': faults.view_of(draft),
        'refusal': _refusal(draft, plan, may_see_hosts),
    }


def _boot(boot):
    """Return the progress and the faults of a group's boot."""
    status, fault, code = boot.status, boot.fault, faults.CONFLICT
    if status == BOOTING and boot.is_abandoned:
        status, fault, code = STOPPED, BOOT_ABANDONED, faults.UNAVAILABLE
    return {
        'status': status,
        'request_id': boot.request_id,
        'created_at': _time(boot.created_at),
        'updated_at': _time(boot.updated_at),
        'missing': boot.missing,
        'created': boot.created,
        'faults': [
            {'path': path, 'fault': each} for path, each in boot.faults.items()
        ],
        'fault': fault and faults.view(code, fault, boot.updated_at),
    }


def _event(event):
    """Return an event: a request about a group, or its outcome."""
    return {
        'event': event.name,
        'created_at': _time(event.created_at),
        'request_id': event.request_id,
        'user_id': event.user_id,
        'project_id': event.project_id,
        'message': event.message,
    }


def _refusal(group, plan, may_see_hosts):
    """Return why the group is REFUSED; None in any other status."""
    is_refused = group.status == states.Group.REFUSED
    # A group deleted after it was loaded may have no plan.
    if not (is_refused and plan and plan.status == VRTPlan.REFUSED):
        return None
    answer = plan.answer
    reason = _filter_keys(REASON, [answer.get('reason') or {}], may_see_hosts)
    relaxations = _filter_keys(
        RELAXATION, answer['relaxations'], may_see_hosts
    )
    if not may_see_hosts:
        relaxations = [
            {**each, 'change': _change(each['change'])} for each in relaxations
        ]
    return {
        'conflict': _filter_keys(CONFLICT, answer['conflict'], may_see_hosts),
        'minimal': answer['minimal'],
        'reason': reason[0] or None,
        'relaxations': relaxations,
    }


def _change(change):
    """Return a relaxation's change with the fields for tenants only."""
    if 'together' in change:
        return {'together': [_change(part) for part in change['together']]}
    return _filter_keys(CHANGE, [change], False)[0]


def _violations(plan, may_see_hosts):
    violations = plan.answer['violations'] if plan else []
    return _filter_keys(VIOLATION, violations, may_see_hosts)


def drift(group):
    """Return the strict policies that the members' locations violate."""
    return (
        (group.drift or []) if group.status in states.GROUP_WITH_HOLDS else []
    )


def _filter_keys(names, items, is_unfiltered):
    if is_unfiltered:
        return items
    return [
        {name: item[name] for name in names if name in item} for item in items
    ]
