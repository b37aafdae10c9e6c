# SPDX-License-Identifier: Apache-2.0
"""How far each member is, as deploying sees it."""

import collections
import dataclasses
import enum


class State(enum.StrEnum):
    """In the order in which a member goes through them."""

    PLANNING = 'planning'
    HELD = 'held'
    BUILDING = 'building'
    ACTIVE = 'active'
    FAILED = 'failed'
    RELEASED = 'released'
    LEFT_OUT = 'left out'


@dataclasses.dataclass
class Member:
    """A member on its way to a server.

    :ivar server_id: once there is one
    :ivar fault: what went wrong
    """

    path: str
    state: State = State.PLANNING
    server_id: str | None = None
    fault: str | None = None


# What a member's status means before its server was looked at.
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
    """Return {path: Member} of a VrtGroup, in its order."""
    return {
        each['path']: Member(
            each['path'],
            State.PLANNING
            if group.is_planning
            else _OF_STATUS[each['status']],
            each['server_id'],
            each['fault'],
        )
        for each in group.members
    }


def counts(members):
    """Return {State: how many}, without those that nobody is in."""
    found = collections.Counter(each.state for each in members)
    return {state: found[state] for state in State if found[state]}
