# SPDX-License-Identifier: Apache-2.0
"""The states of groups, members and holds, and the ways between them.

A change that is not in these tables is a mistake in the program and is
refused before it reaches the database.
"""

import enum


class Group(enum.StrEnum):
    PLANNING = 'PLANNING'
    PLANNED = 'PLANNED'
    HELD = 'HELD'
    ACTIVE = 'ACTIVE'
    REFUSED = 'REFUSED'
    UNDECIDED = 'UNDECIDED'
    ERROR = 'ERROR'
    RELEASED = 'RELEASED'
    # Deleted by its owner; the row stays until the ledger is clean.
    RELEASING = 'RELEASING'


class Member(enum.StrEnum):
    TENTATIVE = 'TENTATIVE'
    HELD = 'HELD'
    # The server's uuid is written; the swap of the allocations is under way.
    REDEEMING = 'REDEEMING'
    ACTIVE = 'ACTIVE'
    FAILED = 'FAILED'
    RELEASED = 'RELEASED'


class Hold(enum.StrEnum):
    # The row is written, Placement was perhaps asked; promised to nobody.
    WRITING = 'WRITING'
    HELD = 'HELD'
    # Somebody finds out whether it was redeemed.
    MOVING = 'MOVING'
    # The allocation belongs to the server now.
    REDEEMED = 'REDEEMED'
    # Nobody's any more; what there is of it in Placement is to be emptied.
    LEAVING = 'LEAVING'


# What is held of a group, as far as its status tells.
HOLDS = (Group.HELD, Group.ACTIVE)
HOLDS_NOTHING = (
    Group.PLANNED,
    Group.REFUSED,
    Group.UNDECIDED,
    Group.ERROR,
)

# Members that are a server, or are becoming one.
IN_USE = (Member.REDEEMING, Member.ACTIVE)

# Holds that are a member's; it has one of them at most.
PROMISED = (Hold.HELD, Hold.MOVING, Hold.REDEEMED)

# Holds that take quota; what leaves is given up, and a server's is Nova's.
TAKES = (Hold.WRITING, Hold.HELD, Hold.MOVING)

# What a member and the hold that it was promised are at the same time.
PROMISES = {
    (Member.HELD, Hold.HELD),
    (Member.REDEEMING, Hold.HELD),
    (Member.REDEEMING, Hold.MOVING),
    (Member.ACTIVE, Hold.REDEEMED),
}

_AFTER_PLANNING = {
    Group.PLANNED,
    Group.HELD,
    Group.REFUSED,
    Group.UNDECIDED,
    Group.ERROR,
    Group.RELEASING,
}
_CAN_BE_HELD = {Group.PLANNING, Group.RELEASED, Group.RELEASING}

GROUP_CHANGES = {
    Group.PLANNING: _AFTER_PLANNING,
    Group.PLANNED: _CAN_BE_HELD,
    Group.REFUSED: _CAN_BE_HELD,
    Group.UNDECIDED: _CAN_BE_HELD,
    Group.ERROR: _CAN_BE_HELD,
    Group.HELD: {Group.ACTIVE, Group.RELEASED, Group.RELEASING},
    Group.ACTIVE: {Group.HELD, Group.RELEASED, Group.RELEASING},
    Group.RELEASED: {Group.RELEASING},
    Group.RELEASING: set(),
}

MEMBER_CHANGES = {
    Member.TENTATIVE: {Member.HELD, Member.RELEASED},
    # HELD again: under another uuid.
    Member.HELD: {
        Member.HELD,
        Member.REDEEMING,
        Member.FAILED,
        Member.RELEASED,
    },
    Member.REDEEMING: {Member.ACTIVE, Member.HELD, Member.FAILED},
    Member.ACTIVE: {Member.HELD, Member.FAILED, Member.RELEASED},
    Member.FAILED: {Member.TENTATIVE, Member.RELEASED},
    Member.RELEASED: {Member.TENTATIVE},
}


# Members that may be given up: no server stands behind them. One whose create
# is under way is never released.
GIVES_UP = (Member.TENTATIVE, Member.HELD, Member.FAILED)


def sources(changes, target):
    """Return the states from which one change leads to the target."""
    return [state for state, targets in changes.items() if target in targets]
