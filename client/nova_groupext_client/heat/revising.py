# SPDX-License-Identifier: Apache-2.0
"""Checks whether an update of a stack has to send its group's definition.

Nothing here knows Heat.
"""

from typing import Any

from nova_groupext_client import sentences
from nova_groupext_client.sdk import _proxy

Node = dict[str, Any]

# Statuses of members without a place: a new description holds them again. A
# server that they had is gone, or was never built.
_WITHOUT_PLACE = ('TENTATIVE', 'FAILED', 'RELEASED')
_SURGE = 'max_surge'
_EXPIRY = 'expires_in'
# Statuses of members with which a conflict may end by itself: a server is
# being created.
_CHANGING = ('REDEEMING',)
# Other conflicts may end by themselves, too: the group grows, or the project
# has too many groups in planning. Attempts are a second apart.
_ATTEMPTS = 30


def has_failed(group: Any) -> bool:
    """Check whether a group, or its last revision, was not planned.

    What planners try, for a create or to replace a member, does not count.

    :param group: VrtGroup of the SDK
    """
    revision = sentences.requested_revision(group)
    status = revision['status'] if revision else group.status
    return status in _proxy.FAILURES


def may_retry(group: Any, attempts: int) -> bool:
    """Check whether a conflict with a group may end by itself.

    :param group: VrtGroup of the SDK as it is now; None before there is one
    :param attempts: number of attempts until now
    """
    return attempts < _ATTEMPTS or (
        group is not None
        and (
            group.is_planning
            or any(each['status'] in _CHANGING for each in group.members)
        )
    )


def is_due(
    group: Any,
    sent: Node | None,
    definition: Node,
    *,
    has_expiry: bool = False,
) -> bool:
    """Check whether a definition has to be sent.

    :param group: VrtGroup of the SDK as it is now
    :param sent: the definition that was accepted last, if any
    :param definition: the present one, in the form of the API
    :param has_expiry: whether its ``expires_in`` is given; the default follows
        the timeout of each update, and is nothing new
    """
    return (
        sent is None
        or has_failed(group)
        or any(each['status'] in _WITHOUT_PLACE for each in group.members)
        or (has_expiry and sent[_EXPIRY] != definition[_EXPIRY])
        or not _is_same(sent, definition)
    )


def _is_same(sent: Node, definition: Node) -> bool:
    """Check whether a definition asks for nothing new but another expiry.

    A larger surge permits what a smaller one does.
    """
    present = {
        **definition,
        'topology': _with_surge(sent['topology'], definition['topology']),
    }
    ignored = {_EXPIRY: None}
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
