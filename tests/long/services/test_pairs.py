# SPDX-License-Identifier: Apache-2.0
"""Each thing happens to a group at every point of each other thing."""

from tests.services import races


class TestPairs(races.PairsCase):
    """Whatever can happen to a group without fillers."""


races.add_pairs(
    TestPairs,
    (
        'hold',
        'redeem',
        'redeem_all',
        'delete',
        'follow',
        'restore',
    ),
    (
        'hold',
        'redeem',
        'redeem_all',
        'release',
        'delete',
        'expire',
        'follow',
        'reap',
        'reap_late',
    ),
)
# What leaves then leaves as when a group is deleted: this is about who may
# have it, or gives it up as well.
races.add_pairs(TestPairs, ('release',), ('redeem', 'delete', 'expire'))
races.add_pairs(TestPairs, ('expire',), ('redeem', 'release', 'reap_late'))
