# SPDX-License-Identifier: Apache-2.0
"""Reference from a server to its member: two ordinary scheduler hints."""

import typing

from nova_groupext_client import hints

GROUP_HINT = hints.GROUP
MEMBER_HINT = hints.MEMBER


class Pointer(typing.NamedTuple):
    """The group and member in a server's hints; a missing hint is None."""

    group: str | None
    member: str | None

    @property
    def is_complete(self):
        return bool(self.group and self.member)


def of(request_spec):
    """Return the Pointer of a RequestSpec; None without our hints.

    Most servers have none, so the check is a cheap look-up.
    """
    given = hints_of(request_spec)
    if GROUP_HINT not in given and MEMBER_HINT not in given:
        return None
    return Pointer(_single(given, GROUP_HINT), _single(given, MEMBER_HINT))


def hints_of(request_spec):
    """Return {name: [value, ...]} of all hints of a RequestSpec."""
    return (
        'scheduler_hints' in request_spec and request_spec.scheduler_hints
    ) or {}


def _single(given, name):
    values = given.get(name) or ()
    return values[0] if len(values) == 1 else None
