# SPDX-License-Identifier: Apache-2.0
"""Progress of each member of a deployment."""

import collections
from collections.abc import Iterable
import dataclasses
import enum

from nova_groupext_client import api_types


class State(enum.StrEnum):
    """State of a member, in the order of progress."""

    PLANNING = 'planning'
    HELD = 'held'
    BUILDING = 'building'
    ACTIVE = 'active'
    FAILED = 'failed'
    RELEASED = 'released'
    LEFT_OUT = 'left out'


@dataclasses.dataclass
class Member:
    """A member and the server that is created for it.

    :ivar server_id: id of its server, None before its creation
    :ivar fault: error message, None without an error
    """

    path: str
    state: State = State.PLANNING
    server_id: str | None = None
    fault: str | None = None


# State by API status, before the status of the server is read.
_STATE_OF_STATUS = {
    'TENTATIVE': State.LEFT_OUT,
    'HELD': State.HELD,
    'REDEEMING': State.BUILDING,
    'ACTIVE': State.BUILDING,
    'SHELVED': State.ACTIVE,
    'FAILED': State.FAILED,
    'RELEASED': State.RELEASED,
}


def members_of(group: api_types.Group) -> dict[str, Member]:
    """Return {path: Member} of a group, in the group's order."""
    return {
        member['path']: Member(
            member['path'],
            State.PLANNING
            if group.is_planning
            else _STATE_OF_STATUS[member['status']],
            member['server_id'],
            member['fault']['message'] if member['fault'] else None,
        )
        for member in group.members
    }


def counts(members: Iterable[Member]) -> dict[State, int]:
    """Return the numbers of members, without states that have none."""
    numbers = collections.Counter(member.state for member in members)
    return {state: numbers[state] for state in State if numbers[state]}
