# SPDX-License-Identifier: Apache-2.0
"""Relaxations of a refusal, applied to a topology."""

import copy


def apply(topology, change):
    """Return a copy of a topology with a relaxation's change applied."""
    relaxed = copy.deepcopy(topology)
    for part in change.get('together', [change]):
        _apply_part(relaxed, part)
    return relaxed


def _apply_part(topology, part):
    if 'min_counts' in part:
        for path, count in part['min_counts'].items():
            parent, _slash, name = path.rpartition('/')
            _node(topology, parent)['members'][name]['min_count'] = count
    elif 'members' in part:
        member = _node(topology, part['at'])['members'][part['members']]
        member['min_count'] = part['min_count']
    else:
        _policy(topology, part)['strict'] = part['strict']


def _policy(topology, part):
    """Return the policy that a part of a change modifies."""
    [policy] = [
        each
        for each in _node(topology, part['at'])['policies']
        if (each['type'], each['scope']) == (part['policy'], part['scope'])
    ]
    return policy


def _node(topology, path):
    """Return the group or subgroup at a path."""
    node = topology
    for name in filter(None, path.split('/')):
        node = node['groups'][name]
    return node
