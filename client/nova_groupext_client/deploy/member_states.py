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
    LEAVING = 'leaving'
    FAILED = 'failed'
    RELEASED = 'released'
    NOT_HELD = 'not held'
    LEFT_OUT = 'left out'


@dataclasses.dataclass
class Member:
    """A member and the server that is created for it.

    :ivar server_id: id of its server, None before its creation
    :ivar fault: error message, None without an error
    :ivar is_unbuilt: whether its server could not be built: it may get another
    """

    path: str
    state: State = State.PLANNING
    server_id: str | None = None
    fault: str | None = None
    is_unbuilt: bool = False


# State by API status, before the status of the server is read.
_STATE_OF_STATUS = {
    'HELD': State.HELD,
    'REDEEMING': State.BUILDING,
    'ACTIVE': State.BUILDING,
    'SHELVED': State.ACTIVE,
    'LEAVING': State.LEAVING,
    'FAILED': State.FAILED,
    'RELEASED': State.RELEASED,
}


def members_of(group: api_types.Group) -> dict[str, Member]:
    """Return {path: Member} of a group, in the group's order."""
    return {
        member['path']: Member(
            member['path'],
            State.PLANNING if group.is_planning else _state(member),
            member['server_id'],
            member['fault']['message'] if member['fault'] else None,
            is_unbuilt=member['status'] == 'FAILED',
        )
        for member in group.members
    }


def has_lost_hold(member: api_types.Member) -> bool:
    """Check whether a member was held before; its fault tells what happened.

    Without a fault the plan has left it out, as ``min_count`` allows.
    """
    return member['status'] == 'TENTATIVE' and member['fault'] is not None


def _state(member: api_types.Member) -> State:
    if member['status'] == 'TENTATIVE':
        return State.NOT_HELD if has_lost_hold(member) else State.LEFT_OUT
    return _STATE_OF_STATUS[member['status']]


def counts(members: Iterable[Member]) -> dict[State, int]:
    """Return the numbers of members, without states that have none."""
    numbers = collections.Counter(member.state for member in members)
    return {state: numbers[state] for state in State if numbers[state]}
