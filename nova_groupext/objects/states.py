# SPDX-License-Identifier: Apache-2.0
"""States of groups, members and holds, and the permitted changes.

VRTGroup.change() and VRTMember.status_change() refuse a change that is missing
here: it is a programming error. No code checks HOLD_CHANGES at run time.
"""

from collections.abc import Collection
from collections.abc import Mapping
import enum
from typing import TypeVar

_State = TypeVar('_State', bound=enum.StrEnum)


class Group(enum.StrEnum):
    PLANNING = 'PLANNING'
    PLANNED = 'PLANNED'
    HELD = 'HELD'
    ACTIVE = 'ACTIVE'
    REFUSED = 'REFUSED'
    UNDECIDED = 'UNDECIDED'
    ERROR = 'ERROR'
    RELEASED = 'RELEASED'
    # Deleted by its owner; the row stays until its holds are released.
    RELEASING = 'RELEASING'


class Member(enum.StrEnum):
    TENTATIVE = 'TENTATIVE'
    HELD = 'HELD'
    # The server's uuid is written; its hold's capacity is being transferred.
    REDEEMING = 'REDEEMING'
    ACTIVE = 'ACTIVE'
    # Its server is shelved: on no host, but still the member's.
    SHELVED = 'SHELVED'
    FAILED = 'FAILED'
    RELEASED = 'RELEASED'


# Status that is shown, of servers beyond what the definition allows
LEAVING = 'LEAVING'


class Hold(enum.StrEnum):
    # The row is written, Placement may have been asked; not committed.
    WRITING = 'WRITING'
    HELD = 'HELD'
    # A server has the allocation, or is just getting it.
    REDEEMING = 'REDEEMING'
    # The server owns the allocation.
    REDEEMED = 'REDEEMED'
    # A swap in progress gives its capacity to its successors.
    EXCHANGING = 'EXCHANGING'
    # Ended; its consumer in Placement has to be emptied.
    RELEASING = 'RELEASING'
    # Owns nothing, and never will; the row stays as a tombstone.
    RELEASED = 'RELEASED'


# States of groups that may, or cannot, have committed holds
GROUP_WITH_HOLDS = (Group.HELD, Group.ACTIVE)
GROUP_WITHOUT_HOLDS = (
    Group.PLANNED,
    Group.REFUSED,
    Group.UNDECIDED,
    Group.ERROR,
)


class Origin(enum.StrEnum):
    """Reason of a draft: a PUT, a create, or a member to be replaced."""

    REQUEST = enum.auto()
    CREATE = enum.auto()
    REPLACEMENT = enum.auto()


class Create(enum.StrEnum):
    """Status of a create that waits for a planner."""

    OPEN = enum.auto()
    PLACED = enum.auto()
    REFUSED = enum.auto()
    FAILED = enum.auto()


# Groups whose members may be placed again. In a RELEASED one, failed members
# are left.
GROUP_REPLACEABLE = (*GROUP_WITH_HOLDS, Group.RELEASED)

# Members that planners may place again without a request
MEMBER_REPLACEABLE = (Member.HELD, Member.FAILED)

# Members that need a host
MEMBER_NEEDS_HOST = (Member.TENTATIVE, Member.FAILED)

# Members that have a server, or are getting one
MEMBER_HAS_SERVER = (Member.REDEEMING, Member.ACTIVE, Member.SHELVED)

# Members that have a place: a host, or the right to come back to one
MEMBER_PLACED = (Member.HELD, *MEMBER_HAS_SERVER)

# Members whose servers the follow step tracks
MEMBER_SERVER_RUNS = (Member.ACTIVE, Member.SHELVED)

# Holds that are committed to a member; each has one at most.
HOLD_COMMITTED = (Hold.HELD, Hold.REDEEMING, Hold.REDEEMED, Hold.EXCHANGING)

# Holds that count for quota. Ended ones do not, and Nova counts servers.
HOLD_COUNTS_FOR_QUOTA = (
    Hold.WRITING,
    Hold.HELD,
    Hold.REDEEMING,
    Hold.EXCHANGING,
)

# Holds of an unfinished plan or swap
HOLD_OPEN = (Hold.WRITING, Hold.EXCHANGING)

# Every state except that of tombstones; RELEASING is one of them
HOLD_HAS_NOT_ENDED = tuple(state for state in Hold if state != Hold.RELEASED)

# Valid pairs of a member's and its committed hold's state
VALID_STATE_PAIRS = {
    (Member.HELD, Hold.HELD),
    (Member.HELD, Hold.EXCHANGING),
    (Member.REDEEMING, Hold.REDEEMING),
    (Member.ACTIVE, Hold.REDEEMED),
    # Its server's capacity is being taken back.
    (Member.ACTIVE, Hold.EXCHANGING),
    # Its server has failed and still owns the capacity.
    (Member.FAILED, Hold.REDEEMED),
    (Member.FAILED, Hold.EXCHANGING),
}

# Members that always have a committed hold; a SHELVED one has no host.
MEMBER_REQUIRES_HOLD = (Member.HELD, Member.REDEEMING, Member.ACTIVE)

_AFTER_PLANNING = {
    Group.PLANNED,
    Group.HELD,
    Group.REFUSED,
    Group.UNDECIDED,
    Group.ERROR,
    Group.RELEASING,
}
# HELD directly: a revision that adopts servers.
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
    # PLANNING: its owner asks for it again. HELD: a failed member is held
    # again.
    Group.RELEASED: {Group.PLANNING, Group.HELD, Group.RELEASING},
    Group.RELEASING: set(),
}

# ACTIVE from a state without a server: the member adopts a running server.
MEMBER_CHANGES = {
    Member.TENTATIVE: {Member.HELD, Member.ACTIVE, Member.RELEASED},
    # HELD: under another uuid. TENTATIVE: left out by a revision.
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
        Member.TENTATIVE,
        Member.HELD,
        Member.SHELVED,
        Member.FAILED,
        Member.RELEASED,
    },
    Member.SHELVED: {Member.TENTATIVE, Member.ACTIVE, Member.FAILED},
    # HELD or FAILED again: when its server owns nothing any more.
    Member.FAILED: {
        Member.TENTATIVE,
        Member.HELD,
        Member.ACTIVE,
        Member.FAILED,
        Member.RELEASED,
    },
    Member.RELEASED: {Member.TENTATIVE, Member.HELD, Member.ACTIVE},
}


# No state is entered twice: a successor is another row.
HOLD_CHANGES = {
    Hold.WRITING: {Hold.HELD, Hold.RELEASING},
    Hold.HELD: {Hold.REDEEMING, Hold.EXCHANGING, Hold.RELEASING},
    # RELEASED: lost. RELEASING: a resize that failed.
    Hold.REDEEMING: {Hold.REDEEMED, Hold.RELEASED, Hold.RELEASING},
    Hold.REDEEMED: {Hold.EXCHANGING, Hold.RELEASED},
    # RELEASING: its consumer may still own something.
    Hold.EXCHANGING: {Hold.RELEASED, Hold.RELEASING},
    Hold.RELEASING: {Hold.RELEASED},
    Hold.RELEASED: set(),
}

# Members that may be released, as no server owns them. A member in REDEEMING
# is never released.
MEMBER_RELEASABLE = (Member.TENTATIVE, Member.HELD, Member.FAILED)


def states_leading_to(
    changes: Mapping[_State, Collection[_State]], target: _State
) -> list[_State]:
    """Return the states from which one change leads to the target."""
    return [state for state, targets in changes.items() if target in targets]
