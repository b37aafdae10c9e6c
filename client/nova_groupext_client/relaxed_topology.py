# SPDX-License-Identifier: Apache-2.0
"""Application of a refusal's relaxations to a topology."""

from collections.abc import Iterator
import copy

from nova_groupext_client import api_types


def apply(
    topology: api_types.Topology, change: api_types.Change
) -> api_types.Topology:
    """Return a copy of a topology with one relaxation applied.

    :raises: LookupError when the change names a part that is missing
    """
    changed = copy.deepcopy(topology)
    for part in change.get('together', [change]):
        _apply_part(changed, part)
    return changed


def _apply_part(topology: api_types.Topology, part: api_types.Change) -> None:
    if 'min_counts' in part:
        for path, count in part['min_counts'].items():
            at, _slash, name = path.rpartition('/')
            _node(topology, at)['members'][name]['min_count'] = count
    elif 'members' in part:
        node = _node(topology, part['at'])
        node['members'][part['members']]['min_count'] = part['min_count']
    else:
        policies = [
            each
            for each in _policies(topology, part['at'])
            if (each['type'], each['scope']) == (part['policy'], part['scope'])
        ]
        if not policies:
            raise LookupError(f'{part["at"]}: {part["policy"]}')
        for policy in policies:
            policy['strict'] = part['strict']


def _policies(
    topology: api_types.Topology, at: str
) -> Iterator[api_types.Object]:
    """Yield the policies of a node, member or relationship at a path."""
    parent, _slash, name = at.rpartition('/')
    relationships = _node_or_empty(topology, parent).get('relationships', [])
    for number, each in enumerate(relationships):
        if each.get('name', f'relationships[{number}]') == name:
            yield from each.get('policies', [])
    yield from (
        _node_or_empty(topology, parent)
        .get('members', {})
        .get(name, {})
        .get('policies', [])
    )
    yield from _node_or_empty(topology, at).get('policies', [])


def _node_or_empty(
    topology: api_types.Topology, path: str
) -> api_types.Topology:
    try:
        return _node(topology, path)
    except KeyError:
        return {}


def _node(topology: api_types.Topology, path: str) -> api_types.Topology:
    """Return the group or subgroup at a path."""
    node = topology
    for name in filter(None, path.split('/')):
        node = node['groups'][name]
    return node
