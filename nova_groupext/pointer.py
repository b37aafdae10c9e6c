# SPDX-License-Identifier: Apache-2.0
"""The pointer from a server to its member: two ordinary scheduler hints."""

import typing

GROUP_HINT = 'vrt_group'
MEMBER_HINT = 'vrt_member'


class Pointer(typing.NamedTuple):
    """What a server's hints say; a missing hint is None."""

    group: str | None
    member: str | None

    @property
    def is_complete(self):
        return bool(self.group and self.member)


def of(request_spec):
    """Return the Pointer of a RequestSpec, None for everybody else's server.

    Costs nothing but a look into a mapping: ordinary servers pass here.
    """
    hints = (
        'scheduler_hints' in request_spec and request_spec.scheduler_hints
    ) or {}
    if GROUP_HINT not in hints and MEMBER_HINT not in hints:
        return None
    return Pointer(_single(hints, GROUP_HINT), _single(hints, MEMBER_HINT))


def _single(hints, name):
    values = hints.get(name) or ()
    return values[0] if len(values) == 1 else None
