# SPDX-License-Identifier: Apache-2.0
"""Policies against the room in their domains.

``room`` is how many of those under the policy each domain may take: of
anti-affinity those that are still to come, else pinned ones included. An
answer may be too hopeful, never too bleak.
"""

import numpy as np


def _may_part(policy, cover, room):
    """Whether domains with some room may take all, so many in each."""
    return sum(cover.missing.values()) <= room.sum()


def _may_spread(policy, cover, room):
    """Whether some domains may take all, evenly."""
    need = sum(cover.missing.values()) + len(cover.pins)
    if not need:
        return True
    if not policy.max_skew:
        return _may_be_even(policy, cover, room, need)
    # The domain with fewest has one of these numbers of members.
    for fewest in np.unique(room[room > 0]):
        used = room[room >= fewest]
        most = np.minimum(used, fewest + policy.max_skew).sum()
        if len(used) >= min(policy.min_domains, need) and most >= need:
            return True
    return False


def _may_be_even(policy, cover, room, need):
    """Whether all used domains may have the same number of members."""
    members = sum(cover.crowds.values()) + len(cover.pins)
    for each in range(1, min(members, int(room.max(initial=0))) + 1):
        most_domains = min(np.count_nonzero(room >= each), members // each)
        for domains in range(-(-need // each), most_domains + 1):
            if domains >= min(policy.min_domains, domains * each):
                return True
    return False


def _may_survive(policy, cover, room):
    """Whether enough may be left after the fullest domains are lost."""
    room = np.sort(room)[::-1]
    if room[policy.failures :].sum() < policy.min_members:
        return False
    used = np.count_nonzero(room)
    members = sum(cover.crowds.values()) + len(cover.pins)
    # The fullest have at least their share.
    lost = -(-members * policy.failures // max(1, used))
    return members - lost >= policy.min_members


#: By type: whether all under a policy may find room, (policy, Cover, room).
LIMITS = {
    'anti-affinity': _may_part,
    'spread': _may_spread,
    'survive': _may_survive,
}
