# SPDX-License-Identifier: Apache-2.0
"""Text map of a group for the terminal."""

from collections.abc import Sequence

from nova_groupext_client import api_types
from nova_groupext_client.drawing import places

_INDENT = '  '
# Held members have no mark.
_MARKS = {'TENTATIVE': '?', 'REDEEMING': '~', 'ACTIVE': '*', 'LEAVING': '-'}
_LEGEND = {
    '?': 'planned, not held',
    '~': 'server is being created',
    '*': 'has a server',
    '-': 'has a server that is to go',
}


def write(group: api_types.Group, width: int) -> str:
    """Return the map: a line for each host, indented below its domains.

    :param width: width of the terminal in characters
    """
    domains, without_host = places.nest(group.members)
    lines = [places.plain(places.summary(group))]
    for domain in domains:
        lines += _domain(domain, '', width)
    if without_host:
        lines.append('without a host')
        for told, members_of_text in _by_status(without_host).items():
            lines += _row(f'{_INDENT}{told}:', members_of_text, width)
    marks = {_MARKS.get(m['status']) for m in group.members if m['domains']}
    legend = [f'{m} {text}' for m, text in _LEGEND.items() if m in marks]
    if legend:
        lines += ['', ', '.join(legend)]
    return '\n'.join([*lines, ''])


def _domain(domain: places.Domain, indent: str, width: int) -> list[str]:
    if not domain.domains:
        return _row(f'{indent}{domain.label}:', domain.members, width)
    lines = [indent + domain.label]
    for inner in domain.domains:
        lines += _domain(inner, indent + _INDENT, width)
    return lines


def _row(
    label: str, members: Sequence[api_types.Member], width: int
) -> list[str]:
    """Return lines with a label and the unbroken paths of members."""
    lines = [label]
    for member in members:
        mark = _MARKS.get(member['status'], '') if member['domains'] else ''
        name = f'  {places.plain(member["path"])}{mark}'
        if len(lines[-1]) + len(name) > width:
            lines.append(3 * _INDENT)
        lines[-1] += name
    return lines


def _by_status(
    members: Sequence[api_types.Member],
) -> dict[str, list[api_types.Member]]:
    """Return {text of status and fault: members}."""
    by_text: dict[str, list[api_types.Member]] = {}
    for member in members:
        text = member['status']
        if member['fault']:
            text += f', {member["fault"]["message"]}'
        by_text.setdefault(places.plain(text), []).append(member)
    return by_text
