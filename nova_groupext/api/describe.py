# SPDX-License-Identifier: Apache-2.0
"""Step 1, describe: from a topology as it was sent to a VRTGroup."""

import hashlib

from oslo_serialization import jsonutils

from nova_groupext.api.schemas import vrt_groups as schemas
from nova_groupext.conf import CONF
from nova_groupext.conf import vrt
from nova_groupext.objects import states
from nova_groupext.objects import topology as rows
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.policy import VRTPolicy
from nova_groupext.objects.policy import VRTRelationship
from nova_groupext.planner import invalid
from nova_groupext.planner import topology

GROUP = '$.vrt_group'
TOPOLOGY = f'{GROUP}.topology'
# What a column of the tables takes.
PATH_LENGTH = 512


def read(body, schema=schemas.CREATE):
    """Check the body of a POST or, with its schema, of a PUT.

    :returns: (what stands under ``vrt_group``, its Topology; None where a PUT
        has none)
    :raises: InvalidInput
    """
    invalid.check(body, schema, '$')
    wanted = body['vrt_group']
    if 'name' in wanted:
        _check_name(wanted['name'], f'{GROUP}.name')
    check_expires_in(wanted, GROUP)
    if 'client_token' in wanted:
        token_at = f'{GROUP}.client_token'
        _check_name(wanted['client_token'], token_at, what='token')
    if 'topology' not in wanted:
        return wanted, None
    return wanted, read_topology(wanted['topology'])


def read_topology(described):
    """Check a topology, and return it as a Topology of the planner's.

    :raises: InvalidInput
    """
    parsed = topology.parse(
        described,
        levels=vrt.levels(CONF),
        member_schema=schemas.MEMBER,
        limits=limits(),
        path=TOPOLOGY,
    )
    for stem in parsed.stems:
        _check_name(stem.name, stem.where)
    _check_classes(parsed.stems)
    for path, where, _node in _nodes(described):
        _check_node(path, where)
    return parsed


def check_expires_in(given, where):
    """Refuse to hold something for longer than the operator wants.

    :param given: the object that may say ``expires_in``
    :raises: InvalidInput
    """
    most = CONF.vrt.max_expires_in
    if given.get('expires_in', 0) > most:
        raise invalid.InvalidInput(
            f'{where}.expires_in', f'must be at most {most}'
        )


def limits():
    """Return the Limits of a topology, as the operator wants them."""
    return topology.Limits(
        depth=CONF.vrt.max_depth + 1,
        width=CONF.vrt.max_width,
        members=CONF.vrt.max_members,
        path_length=PATH_LENGTH,
    )


def group(context, wanted, parsed):
    """Return the VRTGroup that was described, not stored yet.

    Its members have no ``request``: that is what resolving adds.
    """
    nodes = [(path, node) for path, _where, node in _nodes(wanted['topology'])]
    return VRTGroup(
        context,
        project_id=context.project_id,
        user_id=context.user_id,
        name=wanted['name'],
        description=wanted.get('description'),
        fault=None,
        hold=wanted.get('hold', True),
        client_token=wanted.get('client_token'),
        request_digest=_digest(wanted),
        expires_in=int(wanted.get('expires_in', CONF.vrt.default_expires_in)),
        expires_at=None,
        subgroups=[path for path, _node in nodes if path],
        members=_members(nodes, parsed),
        policies=[each for path, node in nodes for each in _rules(path, node)],
        relationships=[
            _relationship(path, each)
            for path, node in nodes
            for each in node.get('relationships', [])
        ],
    )


def is_repeated(made, group):
    """Tell whether a group was described by the request that made another.

    Whatever has become of that one since, by its owner or by itself.

    :param made: VRTGroup that was stored
    :param group: VRTGroup with the same client_token
    """
    if made.request_digest is None:
        # It was made before digests were: all there is is what it is now.
        return _said(made) == _said(group)
    return made.request_digest == group.request_digest


def as_given(group):
    """Return the topology of a group as it was described."""
    return rows.compose(group, lambda member: member.description)


def _digest(wanted):
    """Return what tells a request from another with the same client_token.

    :returns: a str; None where there is no token
    """
    if 'client_token' not in wanted:
        return None
    # A boot may have secrets in it, and can be asked for once more.
    stored = {name: wanted[name] for name in wanted if name != 'boot'}
    said = jsonutils.dumps(stored, sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()


def _said(group):
    scalars = (group.name, group.description, group.hold, group.expires_in)
    return (*scalars, as_given(group))


def _nodes(node, path='', where=TOPOLOGY):
    """Yield (path, JSON path, description) of the group and its subgroups."""
    yield path, where, node
    below = invalid.child(where, 'groups')
    for name, each in node.get('groups', {}).items():
        yield from _nodes(
            each, topology.join(path, name), invalid.child(below, name)
        )


def _check_classes(stems):
    """Refuse more classes than planners have time to ask Placement about."""
    most = CONF.vrt.max_classes
    classes = {jsonutils.dumps(stem.spec, sort_keys=True) for stem in stems}
    if len(classes) > most:
        raise invalid.InvalidInput(
            TOPOLOGY,
            f'describes {len(classes)} kinds of members, which differ in '
            f'flavor, image or availability zone; {most} are allowed',
        )


def _check_node(path, where):
    if path:
        _check_name(path.rpartition('/')[2], where)
    if len(path) > PATH_LENGTH:
        raise invalid.InvalidInput(
            where, f'has a path name of more than {PATH_LENGTH} characters'
        )


def _check_name(name, where, what='name'):
    """Refuse names that a person or a database may take for others."""
    if name != name.strip() or not name.isprintable():
        raise invalid.InvalidInput(
            where,
            f'needs a {what} of printable characters without blanks at its '
            'ends',
        )


def _members(nodes, parsed):
    stems = {stem.path: stem for stem in parsed.stems}
    return [
        VRTMember(
            path=member.path,
            stem=member.stem,
            status=states.Member.TENTATIVE,
            fault=None,
            server_uuid=None,
            description={**description, **rows.counts(description)},
        )
        for path, node in nodes
        for name, description in node.get('members', {}).items()
        for member in stems[topology.join(path, name)].members
    ]


def _rules(path, described):
    return [
        VRTPolicy(at=path, type=each['type'], definition=each)
        for each in described.get('policies', [])
    ]


def _relationship(path, described):
    definition = {k: v for k, v in described.items() if k != 'policies'}
    return VRTRelationship(
        at=path, definition=definition, policies=_rules(path, described)
    )
