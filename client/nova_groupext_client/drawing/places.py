# SPDX-License-Identifier: Apache-2.0
"""The domains that a group's members are in, one inside the other."""

import dataclasses
import re

from nova_groupext_client.drawing import style

HOST = 'host'
# Ids of domains are long sums; so much of one tells them apart.
_SUM = re.compile('[0-9a-f]{56}')
_SHORT = 8
_COUNTED = re.compile(r'-\d+$')


@dataclasses.dataclass
class Domain:
    """A zone, a rack, a host.

    :ivar label: its level and name; a name that means nothing is cut short
    :ivar domains: [Domain] of the next level in it; none in a host
    :ivar members: [member, as the API shows it] in it and all of them
    """

    label: str
    domains: list
    members: list


def nest(members):
    """Return [Domain] of the largest level, and the members without a place.

    :param members: as the API shows them
    """
    placed = [member for member in members if member['domains']]
    rest = [member for member in members if not member['domains']]
    return _nest(placed, _levels(placed)), rest


def head(group):
    """Return in one line what has become of a group.

    :param group: with the attributes of the SDK's VrtGroup
    """
    placed = sum(bool(member['domains']) for member in group.members)
    return (
        f'{group.name}: {group.status}, {placed} of {len(group.members)} '
        'members have a place'
    )


def stem(member):
    """Return the name that equal members of a group have in common."""
    return _COUNTED.sub('', member['path'])


def plain(text):
    """Return text that does not talk to the terminal."""
    return ''.join(each if each.isprintable() else '?' for each in text)


def _levels(members):
    """Return the levels, the largest first; the API has them host first."""
    # Who is in a domain of each level knows their order best.
    most = sorted(members, key=lambda member: -len(member['domains']))
    levels = dict.fromkeys(each for m in most for each in m['domains'])
    return list(levels)[::-1]


def _nest(members, levels):
    if not levels:
        return []
    level, *inner = levels
    by_name = {}
    for member in members:
        by_name.setdefault(_name(member, level), []).append(member)
    return [
        Domain(_label(level, name), _nest(by_name[name], inner), by_name[name])
        for name in sorted(by_name, key=style.natural)
    ]


def _name(member, level):
    """Return a name for people: admins are told the host's."""
    host = member.get('host')
    return host if level == HOST and host else member['domains'].get(level)


def _label(level, name):
    if name is None:
        return f'no {level}'
    return f'{level} {name[:_SHORT] if _SUM.fullmatch(name) else plain(name)}'
