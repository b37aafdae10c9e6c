# SPDX-License-Identifier: Apache-2.0
"""Progress of each member of a deployment."""

import collections
import dataclasses
import enum


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
_OF_STATUS = {
    'TENTATIVE': State.LEFT_OUT,
    'HELD': State.HELD,
    'REDEEMING': State.BUILDING,
    'ACTIVE': State.BUILDING,
    'SHELVED': State.ACTIVE,
    'FAILED': State.FAILED,
    'RELEASED': State.RELEASED,
}


def of(group):
    """Return {path: Member} of a VrtGroup, in the group's order."""
    return {
        each['path']: Member(
            each['path'],
            State.PLANNING
            if group.is_planning
            else _OF_STATUS[each['status']],
            each['server_id'],
            each['fault'] and each['fault']['message'],
        )
        for each in group.members
    }


def counts(members):
    """Return {State: number of members}, without states that have none."""
    found = collections.Counter(each.state for each in members)
    return {state: found[state] for state in State if found[state]}
