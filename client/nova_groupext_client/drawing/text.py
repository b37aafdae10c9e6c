# SPDX-License-Identifier: Apache-2.0
"""Text map of a group for the terminal."""

from nova_groupext_client.drawing import places

_INDENT = '  '
# Held members have no mark.
_MARKS = {'TENTATIVE': '?', 'REDEEMING': '~', 'ACTIVE': '*'}
_LEGEND = {
    '?': 'planned, not held',
    '~': 'server is being created',
    '*': 'has a server',
}


def write(group, width):
    """Return the map: a line for each host, indented below its domains.

    :param group: object with the attributes of the SDK's VrtGroup
    :param width: width of the terminal in characters
    :returns: text of several lines
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


def _domain(domain, indent, width):
    if not domain.domains:
        return _row(f'{indent}{domain.label}:', domain.members, width)
    lines = [indent + domain.label]
    for inner in domain.domains:
        lines += _domain(inner, indent + _INDENT, width)
    return lines


def _row(label, members, width):
    """Return lines with a label and the unbroken paths of members."""
    lines = [label]
    for member in members:
        mark = _MARKS.get(member['status'], '') if member['domains'] else ''
        name = f'  {places.plain(member["path"])}{mark}'
        if len(lines[-1]) + len(name) > width:
            lines.append(3 * _INDENT)
        lines[-1] += name
    return lines


def _by_status(members):
    """Return {text of status and fault: members}."""
    by_text = {}
    for member in members:
        told = [member['status']]
        if member['fault']:
            told.append(member['fault']['message'])
        told = places.plain(', '.join(told))
        by_text.setdefault(told, []).append(member)
    return by_text
