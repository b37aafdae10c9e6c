# SPDX-License-Identifier: Apache-2.0
"""Planners die on a real Nova at every point of what they change."""

from tests.functional import test_adopt
from tests.functional import test_replanning_dies
from tests.functional import test_resizing
from tests.functional import test_revising


def _around(*writes):
    """Return the points before and after some writes."""
    return [
        f'{when} {write}' for write in writes for when in ('before', 'after')
    ]


class TestAdopting(test_adopt.TestDying):
    POINTS = (
        'after adopt.point',
        'after revise.commit',
        'after release.point',
    )


class TestRevising(test_revising.TestDying):
    POINTS = _around('revise.prepare', 'swap.apply', 'revise.commit')


class TestResizing(test_resizing.TestDying):
    POINTS = _around('swap.apply', 'revise.commit')


class TestReplanning(test_replanning_dies.TestDying):
    POINTS = _around('hold.post', 'revise.commit')
