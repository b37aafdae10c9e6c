# SPDX-License-Identifier: Apache-2.0
"""Nested domains (zones, racks, hosts) of a group's members."""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import re
import typing

from nova_groupext_client import api_types
from nova_groupext_client.drawing import style

HOST = 'host'
# The API's domain ids are SHA-224 digests; a prefix distinguishes them.
_DIGEST = re.compile('[0-9a-f]{56}')
_SHORT_LENGTH = 8
_NUMBER_SUFFIX = re.compile(r'-\d+$')


@dataclasses.dataclass
class Domain:
    """A domain of one level, such as a zone, a rack or a host.

    :ivar label: level and name; a digest as name is shortened
    :ivar domains: those of the next level; empty for a host
    :ivar members: members at any depth of the domain
    """

    label: str
    domains: 'list[Domain]'
    members: list[api_types.Member]


class Places(typing.NamedTuple):
    """Domains of the largest level, and the members that are in none."""

    domains: list[Domain]
    without_host: list[api_types.Member]


def nest(members: Iterable[api_types.Member]) -> Places:
    """Return the places of members."""
    positioned = [member for member in members if member['domains']]
    without_host = [member for member in members if not member['domains']]
    return Places(_nest(positioned, _levels(positioned)), without_host)


def summary(group: api_types.Group) -> str:
    """Return one line with the name, status and size of a group."""
    positioned = sum(bool(member['domains']) for member in group.members)
    successors = sum(bool(each.get('successor')) for each in group.members)
    line = (
        f'{group.name}: {group.status}, {positioned} of {len(group.members)} '
        'members have a host'
    )
    return f'{line}; successors: {successors}' if successors else line


def member_set(member: api_types.Member) -> str:
    """Return the path of a member without the number at its end."""
    return _NUMBER_SUFFIX.sub('', member['path'])


def plain(text: str) -> str:
    """Return text with ``?`` for control characters of the terminal."""
    return ''.join(each if each.isprintable() else '?' for each in text)


def _levels(members: Iterable[api_types.Member]) -> list[str]:
    """Return the levels, largest first; the API lists the host first."""
    # The member with the most levels determines their order.
    by_levels = sorted(members, key=lambda member: -len(member['domains']))
    levels = dict.fromkeys(each for m in by_levels for each in m['domains'])
    return list(levels)[::-1]


def _nest(
    members: Iterable[api_types.Member], levels: Sequence[str]
) -> list[Domain]:
    if not levels:
        return []
    level, *inner = levels
    by_name: dict[str | None, list[api_types.Member]] = {}
    for member in members:
        by_name.setdefault(_name(member, level), []).append(member)
    return [
        Domain(_label(level, name), _nest(by_name[name], inner), by_name[name])
        for name in sorted(by_name, key=style.natural)
    ]


def _name(member: api_types.Member, level: str) -> str | None:
    """Return the name of a domain: the host's if the API shows it."""
    host = member.get('host')
    return host if level == HOST and host else member['domains'].get(level)


def _label(level: str, name: str | None) -> str:
    if name is None:
        return f'no {level}'
    if _DIGEST.fullmatch(name):
        return f'{level} {name[:_SHORT_LENGTH]}'
    return f'{level} {plain(name)}'
