# SPDX-License-Identifier: Apache-2.0
"""Necessary conditions of policies that limit the members of a domain.

``room`` is an upper bound on covered members by domain: without pinned ones
for anti-affinity, else with them. A failed condition is a proof; a condition
that holds proves nothing.
"""

import numpy as np


def _may_part(policy, cover, room):
    """Check whether all domains together may take the members."""
    return sum(cover.missing.values()) <= room.sum()


def _may_spread(policy, cover, room):
    """Check whether some domains may take all members evenly."""
    need = sum(cover.missing.values()) + len(cover.pins)
    if not need:
        return True
    if not policy.max_skew:
        return _may_be_even(policy, cover, room, need)
    # A smallest count between two of these never allows more members.
    for fewest in np.unique(room[room > 0]):
        used = room[room >= fewest]
        most = np.minimum(used, fewest + policy.max_skew).sum()
        if len(used) >= min(policy.min_domains, need) and most >= need:
            return True
    return False


def _may_be_even(policy, cover, room, need):
    """Check whether used domains may have equal numbers of members."""
    members = sum(cover.crowds.values()) + len(cover.pins)
    for each in range(1, min(members, int(room.max(initial=0))) + 1):
        most_domains = min(np.count_nonzero(room >= each), members // each)
        for domains in range(-(-need // each), most_domains + 1):
            if domains >= min(policy.min_domains, domains * each):
                return True
    return False


def _may_survive(policy, cover, room):
    """Check whether enough members may survive the worst failure."""
    room = np.sort(room)[::-1]
    if room[policy.failures :].sum() < policy.min_members:
        return False
    used = np.count_nonzero(room)
    members = sum(cover.crowds.values()) + len(cover.pins)
    # The fullest domains have at least the average number of members.
    lost = -(-members * policy.failures // max(1, used))
    return members - lost >= policy.min_members


#: Policy type -> its condition, a function of (policy, Coverage, room).
LIMITS = {
    'anti-affinity': _may_part,
    'spread': _may_spread,
    'survive': _may_survive,
}
