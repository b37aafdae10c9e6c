# SPDX-License-Identifier: Apache-2.0
"""Text map of a group for the terminal."""

from nova_groupext_client.drawing import places

_INDENT = '  '
# Held members have no mark.
_MARKS = {'TENTATIVE': '?', 'REDEEMING': '~', 'ACTIVE': '*'}
_LEGEND = {
    '?': 'planned, not held',
    '~': 'about to be a server',
    '*': 'a server',
}


def write(group, width):
    """Return the map: a line for each host, indented below its domains.

    :param group: object with the attributes of the SDK's VrtGroup
    :param width: width of the terminal in characters
    :returns: text of several lines
    """
    domains, rest = places.nest(group.members)
    lines = [places.plain(places.head(group))]
    for domain in domains:
        lines += _domain(domain, '', width)
    if rest:
        lines.append('without a place')
        for told, same in _by_fate(rest).items():
            lines += _row(f'{_INDENT}{told}:', same, width)
    marks = {_MARKS.get(m['status']) for m in group.members if m['domains']}
    legend = [f'{m} {words}' for m, words in _LEGEND.items() if m in marks]
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


def _by_fate(members):
    """Return {text of status and fault: members}."""
    fates = {}
    for member in members:
        told = [member['status']]
        if member['fault']:
            told.append(member['fault']['message'])
        told = places.plain(', '.join(told))
        fates.setdefault(told, []).append(member)
    return fates
