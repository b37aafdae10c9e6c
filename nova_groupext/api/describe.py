# SPDX-License-Identifier: Apache-2.0
"""Step 1, describe: validation of a topology into a VRTGroup."""

import hashlib

from oslo_serialization import jsonutils

from nova_groupext.api.schemas import request_schemas
from nova_groupext.conf import CONF
from nova_groupext.conf import vrt
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.member_set import VRTMemberSet
from nova_groupext.objects.member_set import description_of
from nova_groupext.objects.policy import VRTPolicy
from nova_groupext.objects.policy import VRTRelationship
from nova_groupext.objects.topology import compose
from nova_groupext.solver.language import parser
from nova_groupext.solver.language import paths
from nova_groupext.solver.language import topology
from nova_groupext.solver.language import validation

GROUP = '$.vrt_group'
TOPOLOGY = f'{GROUP}.topology'
# Size of the path columns.
PATH_LENGTH = 512


def read_body(body, schema=request_schemas.CREATE):
    """Check the body of a POST or, with its schema, of a PUT.

    :returns: (the object ``vrt_group``, its Topology or None)
    :raises: InvalidInput
    """
    validation.check(body, schema, '$')
    attributes = body['vrt_group']
    if 'name' in attributes:
        _check_name(attributes['name'], f'{GROUP}.name')
    check_expires_in(attributes, GROUP)
    if 'client_token' in attributes:
        where = f'{GROUP}.client_token'
        _check_name(attributes['client_token'], where, kind='token')
    if 'topology' not in attributes:
        return attributes, None
    return attributes, read_topology(attributes['topology'])


def read_topology(description):
    """Check a topology and return it as the solver's Topology.

    :raises: InvalidInput
    """
    parsed = parser.parse(
        description,
        levels=vrt.levels(CONF),
        member_schema=request_schemas.MEMBER,
        limits=limits(),
        path=TOPOLOGY,
    )
    for member_set in parsed.member_sets:
        _check_name(member_set.name, member_set.where)
    _check_classes(parsed.member_sets)
    for path, where, _node in _nodes(description):
        _check_node(path, where)
    return parsed


def check_expires_in(parameters, where):
    """Refuse an ``expires_in`` above the operator's maximum.

    :param parameters: object that may have ``expires_in``, in seconds
    :param where: JSON path of the object
    :raises: InvalidInput
    """
    limit = CONF.vrt.max_expires_in
    if parameters.get('expires_in', 0) > limit:
        raise validation.InvalidInput(
            f'{where}.expires_in', f'must be at most {limit}'
        )


def limits():
    """Return the operator's Limits of a topology."""
    return topology.Limits(
        depth=CONF.vrt.max_depth + 1,
        width=CONF.vrt.max_entries_per_list,
        members=CONF.vrt.max_members,
        path_length=PATH_LENGTH,
    )


def build_group(context, attributes, parsed):
    """Return the described VRTGroup, which is not stored yet.

    Its member sets have no ``resolved_request`` until resolve.requests()
    provides it.

    :param attributes: the request's ``vrt_group``
    :param parsed: Topology of its topology
    """
    nodes = [
        (path, node) for path, _where, node in _nodes(attributes['topology'])
    ]
    member_sets = _member_sets(nodes)
    return VRTGroup(
        context,
        project_id=context.project_id,
        user_id=context.user_id,
        name=attributes['name'],
        description=attributes.get('description'),
        fault=None,
        hold_when_planned=attributes.get('hold', True),
        client_token=attributes.get('client_token'),
        request_digest=_digest(attributes),
        expires_in=limit_expires_in(
            attributes.get('expires_in', CONF.vrt.default_expires_in)
        ),
        expires_at=None,
        subgroups=[path for path, _node in nodes if path],
        member_sets=member_sets,
        members=_members(member_sets, parsed),
        policies=_all_policies(nodes),
        relationships=[
            _relationship(path, each)
            for path, node in nodes
            for each in node.get('relationships', [])
        ],
    )


def _all_policies(nodes):
    return [
        policy
        for path, part in _parts(nodes)
        for policy in _policies(path, part)
    ]


def limit_expires_in(seconds):
    """Return seconds for which a group is held, at most the maximum.

    The operator may have set a maximum below the default, or below the present
    value of a group.
    """
    return int(min(seconds, CONF.vrt.max_expires_in))


def compose_topology(group):
    """Return the topology of a group as its owner described it."""
    return compose(group, lambda member_set: member_set.shown_description)


def _digest(attributes):
    """Return the SHA-256 of a request, to compare retries.

    :returns: hexadecimal str; None without a client_token
    """
    if 'client_token' not in attributes:
        return None
    compared = {
        **attributes,
        'boot': _without_passwords(attributes.get('boot')),
    }
    text = jsonutils.dumps(compared, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _without_passwords(boot):
    """Return the templates of a boot without passwords, or None.

    Passwords could be found out from a digest, and a retry may generate
    others.
    """
    if boot is None:
        return None
    return {
        name: {k: v for k, v in template.items() if k != 'adminPass'}
        for name, template in boot.get('servers', {}).items()
    }


def _nodes(node, path='', where=TOPOLOGY):
    """Yield (path, JSON path, description) of the group and its subgroups."""
    yield path, where, node
    below = validation.json_path(where, 'groups')
    for name, each in node.get('groups', {}).items():
        yield from _nodes(
            each, paths.join(path, name), validation.json_path(below, name)
        )


def _check_classes(member_sets):
    """Refuse more classes than planners have time to query Placement for."""
    limit = CONF.vrt.max_classes
    classes = {
        jsonutils.dumps(member_set.spec, sort_keys=True)
        for member_set in member_sets
    }
    if len(classes) > limit:
        raise validation.InvalidInput(
            TOPOLOGY,
            f'describes {len(classes)} member classes (combinations of '
            f'flavor, image and availability zone); at most {limit} are '
            'allowed',
        )


def _check_node(path, where):
    if path:
        _check_name(path.rpartition('/')[2], where)
    if len(path) > PATH_LENGTH:
        raise validation.InvalidInput(
            where, f'has a path name of more than {PATH_LENGTH} characters'
        )


def _check_name(name, where, kind='name'):
    """Refuse names that people or databases may confuse with others."""
    if name != name.strip() or not name.isprintable():
        raise validation.InvalidInput(
            where,
            f'needs a {kind} of printable characters without leading or '
            'trailing blanks',
        )


def _member_sets(nodes):
    return [
        VRTMemberSet(
            path=paths.join(path, name),
            description=description_of(entry),
            is_left_out=False,
        )
        for path, node in nodes
        for name, entry in node.get('members', {}).items()
    ]


def _members(member_sets, parsed):
    members_of = {each.path: each.members for each in parsed.member_sets}
    return [
        VRTMember.tentative(member.path, member_set)
        for member_set in member_sets
        for member in members_of[member_set.path]
    ]


def _parts(nodes):
    """Yield (path, description) of all nodes and members with policies."""
    for path, node in nodes:
        yield path, node
        for name, member in node.get('members', {}).items():
            yield paths.join(path, name), member


def _policies(path, description):
    return [
        VRTPolicy(at=path, type=policy['type'], definition=policy)
        for policy in description.get('policies', [])
    ]


def _relationship(path, description):
    definition = {k: v for k, v in description.items() if k != 'policies'}
    return VRTRelationship(
        at=path, definition=definition, policies=_policies(path, description)
    )
