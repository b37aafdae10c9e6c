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
    # Its server is on no host, but keeps the member's name.
    SHELVED = 'SHELVED'
    FAILED = 'FAILED'
    RELEASED = 'RELEASED'


class Hold(enum.StrEnum):
    # The row is written, Placement was perhaps asked; promised to nobody.
    WRITING = 'WRITING'
    HELD = 'HELD'
    # A server's: it has the allocation, or is just getting it.
    REDEEMING = 'REDEEMING'
    # The allocation belongs to the server now.
    REDEEMED = 'REDEEMED'
    # A swap gives what it has to its successors, or has given it.
    EXCHANGING = 'EXCHANGING'
    # Nobody's any more; what there is of it in Placement is to be emptied.
    RELEASING = 'RELEASING'
    # It owns nothing, and never will; the row is kept as a tombstone.
    RELEASED = 'RELEASED'


# What is held of a group, as far as its status tells.
HOLDS = (Group.HELD, Group.ACTIVE)
HOLDS_NOTHING = (
    Group.PLANNED,
    Group.REFUSED,
    Group.UNDECIDED,
    Group.ERROR,
)

# Groups of which members may be placed anew; in a released one all that were
# left have failed.
CAN_REPLAN = (*HOLDS, Group.RELEASED)

# Members that may be placed anew without their owner's asking for it.
REPLANNED = (Member.HELD, Member.FAILED)

# Members for which a planner looks for a place.
WITHOUT_PLACE = (Member.TENTATIVE, Member.FAILED)

# Members that are a server, or are becoming one.
IN_USE = (Member.REDEEMING, Member.ACTIVE, Member.SHELVED)

# Members that may have been held without a server all the time.
WAIT = (Member.HELD, Member.REDEEMING, Member.FAILED)

# Members whose servers are followed.
SERVERS = (Member.ACTIVE, Member.SHELVED)

# Holds that are a member's; it has one of them at most.
PROMISED = (Hold.HELD, Hold.REDEEMING, Hold.REDEEMED, Hold.EXCHANGING)

# Holds that are over, or have never begun.
ENDED = (Hold.RELEASING, Hold.RELEASED)

# Holds that take quota; what ends is given up, and a server's is Nova's.
TAKES = (Hold.WRITING, Hold.HELD, Hold.REDEEMING, Hold.EXCHANGING)

# Holds of which it is not decided yet what becomes of them.
OPEN = (Hold.WRITING, Hold.EXCHANGING)

# Every hold but for tombstones.
LIVING = tuple(state for state in Hold if state != Hold.RELEASED)

# What a member and the hold that it was promised are at the same time.
PROMISES = {
    (Member.HELD, Hold.HELD),
    (Member.HELD, Hold.EXCHANGING),
    (Member.REDEEMING, Hold.REDEEMING),
    (Member.ACTIVE, Hold.REDEEMED),
    # What its server has is being taken back.
    (Member.ACTIVE, Hold.EXCHANGING),
    # Its server has failed and still owns the capacity.
    (Member.FAILED, Hold.REDEEMED),
    (Member.FAILED, Hold.EXCHANGING),
}

# Members that always have one; a SHELVED one is on no host.
HAVE_HOLD = (Member.HELD, Member.REDEEMING, Member.ACTIVE)

_AFTER_PLANNING = {
    Group.PLANNED,
    Group.HELD,
    Group.REFUSED,
    Group.UNDECIDED,
    Group.ERROR,
    Group.RELEASING,
}
# HELD at once: around servers that were adopted.
_CAN_BE_HELD = {
    Group.PLANNING,
    Group.HELD,
    Group.RELEASED,
    Group.RELEASING,
}

GROUP_CHANGES = {
    Group.PLANNING: _AFTER_PLANNING,
    Group.PLANNED: _CAN_BE_HELD,
    Group.REFUSED: _CAN_BE_HELD,
    Group.UNDECIDED: _CAN_BE_HELD,
    Group.ERROR: _CAN_BE_HELD,
    Group.HELD: {Group.ACTIVE, Group.RELEASED, Group.RELEASING},
    Group.ACTIVE: {Group.HELD, Group.RELEASED, Group.RELEASING},
    # PLANNING once more: its owner wants it again. HELD: one of those that
    # have failed is.
    Group.RELEASED: {Group.PLANNING, Group.HELD, Group.RELEASING},
    Group.RELEASING: set(),
}

# ACTIVE from whatever is no server: one that runs already was adopted.
MEMBER_CHANGES = {
    Member.TENTATIVE: {Member.HELD, Member.ACTIVE, Member.RELEASED},
    # HELD again: under another uuid. TENTATIVE: left out by a revision.
    Member.HELD: {
        Member.TENTATIVE,
        Member.HELD,
        Member.REDEEMING,
        Member.ACTIVE,
        Member.FAILED,
        Member.RELEASED,
    },
    Member.REDEEMING: {Member.ACTIVE, Member.FAILED},
    Member.ACTIVE: {
        Member.HELD,
        Member.SHELVED,
        Member.FAILED,
        Member.RELEASED,
    },
    Member.SHELVED: {Member.ACTIVE, Member.FAILED, Member.RELEASED},
    # HELD or FAILED once more: when its server owns nothing any more.
    Member.FAILED: {
        Member.TENTATIVE,
        Member.HELD,
        Member.ACTIVE,
        Member.FAILED,
        Member.RELEASED,
    },
    Member.RELEASED: {Member.TENTATIVE, Member.HELD, Member.ACTIVE},
}


# No state is entered twice. What is held instead, or again, is another row.
HOLD_CHANGES = {
    Hold.WRITING: {Hold.HELD, Hold.RELEASING},
    Hold.HELD: {Hold.REDEEMING, Hold.EXCHANGING, Hold.RELEASING},
    # RELEASED: lost. RELEASING: a resize that came to nothing.
    Hold.REDEEMING: {Hold.REDEEMED, Hold.RELEASED, Hold.RELEASING},
    Hold.REDEEMED: {Hold.EXCHANGING, Hold.RELEASED},
    # RELEASING: somebody else has changed what it owns.
    Hold.EXCHANGING: {Hold.RELEASED, Hold.RELEASING},
    Hold.RELEASING: {Hold.RELEASED},
    Hold.RELEASED: set(),
}

# Members that may be given up: no server stands behind them. One whose create
# is under way is never released.
GIVES_UP = (Member.TENTATIVE, Member.HELD, Member.FAILED)


def sources(changes, target):
    """Return the states from which one change leads to the target."""
    return [state for state, targets in changes.items() if target in targets]
