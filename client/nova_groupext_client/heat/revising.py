# SPDX-License-Identifier: Apache-2.0
"""Checks whether an update of a stack has to send its group's definition.

Nothing here knows Heat.
"""

from typing import Any

from nova_groupext_client.sdk import _proxy

Node = dict[str, Any]

# Statuses of members without a place: a new description holds them again. A
# server that they had is gone, or was never built.
_WITHOUT_PLACE = ('TENTATIVE', 'FAILED', 'RELEASED')
_SURGE = 'max_surge'


def has_failed(group: Any) -> bool:
    """Check whether a group, or its last revision, was not planned.

    :param group: VrtGroup of the SDK
    """
    revision = group.revision or {}
    return revision.get('status', group.status) in _proxy.FAILURES


def is_due(group: Any, sent: Node | None, definition: Node) -> bool:
    """Check whether a definition has to be sent.

    :param group: VrtGroup of the SDK as it is now
    :param sent: the definition that was accepted last, if any
    :param definition: the present one, in the form of the API
    """
    return (
        sent is None
        or has_failed(group)
        or any(each['status'] in _WITHOUT_PLACE for each in group.members)
        or not _is_same(sent, definition)
    )


def _is_same(sent: Node, definition: Node) -> bool:
    """Check whether a definition asks for nothing new.

    The time for which capacity is held follows the timeout of each update, and
    a larger surge permits what a smaller one does.
    """
    present = {
        **definition,
        'topology': _with_surge(sent['topology'], definition['topology']),
    }
    ignored = {'expires_in': None}
    return {**sent, **ignored} == {**present, **ignored}


def _with_surge(sent: Node, node: Node) -> Node:
    """Return a node whose members have at least the surge that was sent."""
    raised = dict(node)
    if 'members' in node:
        before = sent.get('members', {})
        raised['members'] = {
            name: {**member, _SURGE: _largest(before.get(name, {}), member)}
            for name, member in node['members'].items()
        }
    if 'groups' in node:
        before = sent.get('groups', {})
        raised['groups'] = {
            name: _with_surge(before.get(name, {}), group)
            for name, group in node['groups'].items()
        }
    return raised


def _largest(*members: Node) -> int:
    return max(int(each.get(_SURGE, 0)) for each in members)
