# SPDX-License-Identifier: Apache-2.0
"""Groups as tests of the database store them."""

from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.member_placement import MemberPlacement

TOPOLOGY = {
    'members': {'master': {'flavor': 'm1'}},
    'groups': {
        'workers': {
            'members': {'worker': {'flavor': 'm2', 'count': 2}},
            'policies': [{'type': 'spread', 'scope': 'rack'}],
        }
    },
    'policies': [{'type': 'affinity', 'scope': 'zone'}],
    'relationships': [
        {
            'name': 'shuffle',
            'between': ['master', 'workers'],
            'policies': [{'type': 'network-proximity', 'scope': 'rack'}],
        }
    ],
}


def unstored(**values):
    """A group of three members with every kind of part, not stored yet."""
    return objects.VRTGroup(
        **{
            'project_id': 'project',
            'user_id': 'user',
            'name': 'analytics',
            'description': None,
            'fault': None,
            'hold_when_planned': True,
            'client_token': None,
            'expires_in': 60,
            'expires_at': None,
            'subgroups': ['workers'],
            **members_of(
                member_set('master', flavor='m1'),
                member_set('workers/worker', flavor='m2', count=2),
            ),
            'policies': [
                policy('', TOPOLOGY['policies'][0]),
                policy(
                    'workers',
                    TOPOLOGY['groups']['workers']['policies'][0],
                ),
            ],
            'relationships': [_relationship()],
            **values,
        }
    )


def equal_members(size, **values):
    """A group of so many members and nothing else, not stored yet."""
    members = members_of(member_set('m', count=size))
    no_other_parts = {'subgroups': [], 'policies': [], 'relationships': []}
    return unstored(**{**members, **no_other_parts, **values})


def placement(provider, vcpus):
    """Return the MemberPlacement on a host of one provider."""
    return MemberPlacement(
        host=provider,
        node=provider,
        provider=provider,
        allocations={provider: {'resources': {'VCPU': vcpus}}},
        mappings={'': [provider]},
    )


def member_set(path, request=None, **description):
    return objects.VRTMemberSet(
        path=path,
        description=description,
        resolved_request=request or {},
        is_left_out=False,
    )


def member(path, described):
    """Return a member of a member set, not stored yet."""
    return objects.VRTMember(
        path=path,
        member_set=described.path,
        described=described,
        status=states.Member.TENTATIVE,
        succeeds=None,
    )


def members_of(*member_sets):
    """Return the fields of a group with some member sets."""
    return {
        'member_sets': [*member_sets],
        'members': [
            member(path, each)
            for each in member_sets
            for path in _paths(each.path, each.counts.get('count'))
        ],
    }


def single_members(paths):
    """Return the fields of a group with some single members."""
    return members_of(*(member_set(path) for path in paths))


def _paths(path, count):
    if count is None:
        return [path]
    return [f'{path}-{index}' for index in range(count)]


def create_holds(context, group):
    """Store a hold for each member, as a planner does before it asks."""
    return objects.VRTHold.create_all(
        context,
        [
            objects.VRTHold.for_member(
                each, placement(uuidutils.generate_uuid(), 1)
            )
            for each in group.members
        ],
    )


def acquire_lease(context, group):
    """Return the lease of a group, which nobody else has."""
    return objects.VRTLease.acquire(
        context,
        group.id,
        *(uuidutils.generate_uuid() for _name in ('owner', 'operation')),
        300,
        wakes_owner=False,
    )


def hold_all(context, group, rows, expires_at):
    """Let a group be held, as a planner does when Placement has agreed."""
    own_lease = acquire_lease(context, group)
    transitions.hold_group(context, own_lease, group, rows, expires_at)
    own_lease.release(context)


def policy(at, definition):
    return objects.VRTPolicy(
        at=at, type=definition['type'], definition=definition
    )


def _relationship():
    [relationship] = TOPOLOGY['relationships']
    return objects.VRTRelationship(
        at='',
        definition={key: relationship[key] for key in ('name', 'between')},
        policies=[policy('', relationship['policies'][0])],
    )
