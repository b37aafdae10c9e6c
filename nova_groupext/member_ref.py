# SPDX-License-Identifier: Apache-2.0
"""Reference from a server to its member: two ordinary scheduler hints."""

import typing

from nova_groupext_client import hints as client_hints

GROUP_HINT = client_hints.GROUP
MEMBER_HINT = client_hints.MEMBER
#: Hint for any member of the group, as no path is empty
ANY = '/'


class MemberRef(typing.NamedTuple):
    """The group and member in a server's hints; a missing hint is None."""

    group: str | None
    member: str | None

    @property
    def is_complete(self):
        return bool(self.group) and self.member is not None


def from_spec(request_spec):
    """Return the MemberRef of a RequestSpec; None without our hints.

    Most servers have none, so the check is a cheap look-up.
    """
    hints = get_hints(request_spec)
    if GROUP_HINT not in hints and MEMBER_HINT not in hints:
        return None
    member = _single_value(hints, MEMBER_HINT)
    return MemberRef(
        _single_value(hints, GROUP_HINT), member and to_path(member)
    )


def to_path(hint):
    """Return the path in a hint; '' for any member of the group."""
    return '' if hint == ANY else hint


def get_hints(request_spec):
    """Return {name: [value, ...]} of all hints of a RequestSpec."""
    return (
        'scheduler_hints' in request_spec and request_spec.scheduler_hints
    ) or {}


def _single_value(hints, name):
    values = hints.get(name) or ()
    return values[0] if len(values) == 1 else None
