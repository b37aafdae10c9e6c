# SPDX-License-Identifier: Apache-2.0
"""Step 1, describe: validation of a topology into a VRTGroup."""

import hashlib

from oslo_serialization import jsonutils

from nova_groupext.api.schemas import request_schemas
from nova_groupext.conf import CONF
from nova_groupext.conf import vrt
from nova_groupext.objects import states
from nova_groupext.objects import topology as rows
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.policy import VRTPolicy
from nova_groupext.objects.policy import VRTRelationship
from nova_groupext.solver.language import paths
from nova_groupext.solver.language import topology
from nova_groupext.solver.language import validation

GROUP = '$.vrt_group'
TOPOLOGY = f'{GROUP}.topology'
# Size of the path columns.
PATH_LENGTH = 512


def read(body, schema=request_schemas.CREATE):
    """Check the body of a POST or, with its schema, of a PUT.

    :returns: (the object ``vrt_group``, its Topology or None)
    :raises: InvalidInput
    """
    validation.check(body, schema, '$')
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
    """Check a topology and return it as the planner's Topology.

    :raises: InvalidInput
    """
    parsed = topology.parse(
        described,
        levels=vrt.levels(CONF),
        member_schema=request_schemas.MEMBER,
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
    """Refuse an ``expires_in`` above the operator's maximum.

    :param given: object that may have ``expires_in``, in seconds
    :param where: JSON path of ``given``
    :raises: InvalidInput
    """
    most = CONF.vrt.max_expires_in
    if given.get('expires_in', 0) > most:
        raise validation.InvalidInput(
            f'{where}.expires_in', f'must be at most {most}'
        )


def limits():
    """Return the operator's Limits of a topology."""
    return topology.Limits(
        depth=CONF.vrt.max_depth + 1,
        width=CONF.vrt.max_entries_per_list,
        members=CONF.vrt.max_members,
        path_length=PATH_LENGTH,
    )


def group(context, wanted, parsed):
    """Return the described VRTGroup, which is not stored yet.

    Its members have no ``request`` until resolve.requests() provides it.
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
        policies=[
            each for path, part in _parts(nodes) for each in _rules(path, part)
        ],
        relationships=[
            _relationship(path, each)
            for path, node in nodes
            for each in node.get('relationships', [])
        ],
    )


def is_repeated(made, group):
    """Check whether two groups come from the same POST, sent again.

    Later changes to the stored group do not matter.

    :param made: VRTGroup that is stored
    :param group: VRTGroup with the same client_token
    """
    if made.request_digest is None:
        # A row from before digests existed: compare its present values.
        return _said(made) == _said(group)
    return made.request_digest == group.request_digest


def as_given(group):
    """Return the topology of a group as its owner described it."""
    return rows.compose(group, lambda member: member.description)


def _digest(wanted):
    """Return the SHA-256 of a request, to compare retries.

    :returns: hexadecimal str; None without a client_token
    """
    if 'client_token' not in wanted:
        return None
    # A boot may contain secrets, and may differ in a retry.
    stored = {name: wanted[name] for name in wanted if name != 'boot'}
    said = jsonutils.dumps(stored, sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()


def _said(group):
    scalars = (group.name, group.description, group.hold, group.expires_in)
    return (*scalars, as_given(group))


def _nodes(node, path='', where=TOPOLOGY):
    """Yield (path, JSON path, description) of the group and its subgroups."""
    yield path, where, node
    below = validation.json_path(where, 'groups')
    for name, each in node.get('groups', {}).items():
        yield from _nodes(
            each, paths.join(path, name), validation.json_path(below, name)
        )


def _check_classes(stems):
    """Refuse more classes than planners have time to query Placement for."""
    most = CONF.vrt.max_classes
    classes = {jsonutils.dumps(stem.spec, sort_keys=True) for stem in stems}
    if len(classes) > most:
        raise validation.InvalidInput(
            TOPOLOGY,
            f'describes {len(classes)} kinds of members, which differ in '
            f'flavor, image or availability zone; {most} are allowed',
        )


def _check_node(path, where):
    if path:
        _check_name(path.rpartition('/')[2], where)
    if len(path) > PATH_LENGTH:
        raise validation.InvalidInput(
            where, f'has a path name of more than {PATH_LENGTH} characters'
        )


def _check_name(name, where, what='name'):
    """Refuse names that people or databases may confuse with others."""
    if name != name.strip() or not name.isprintable():
        raise validation.InvalidInput(
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
            description={**rows.spec(description), **rows.counts(description)},
        )
        for path, node in nodes
        for name, description in node.get('members', {}).items()
        for member in stems[paths.join(path, name)].members
    ]


def _parts(nodes):
    """Yield (path, description) of all nodes and members with policies."""
    for path, node in nodes:
        yield path, node
        for name, member in node.get('members', {}).items():
            yield paths.join(path, name), member


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
