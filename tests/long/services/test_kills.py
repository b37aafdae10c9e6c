# SPDX-License-Identifier: Apache-2.0
"""Each operation is killed before and after every one of its points."""

from oslotest import base

from nova_groupext import faultpoints
from tests.services import kill_reapers
from tests.services import kill_requests
from tests.services import kills

# Adopting needs more of Nova: it dies in tests/functional, in test_adopt.
ELSEWHERE = {'adopt.point', 'release.point'}


class TestRequests(kill_requests.RequestKills):
    """Processes that do what somebody asked for."""


class TestReapers(kill_reapers.ReaperKills):
    """Reapers."""


def _add_kills(case, points_of):
    for operation, points in points_of.items():
        for point in points:
            for when in ('before', 'after'):
                kills.add_kill(case, operation, f'{when} {point}')


_add_kills(TestRequests, kill_requests.POINTS)
_add_kills(TestReapers, kill_reapers.POINTS)


class TestPoints(base.BaseTestCase):
    def test_every_point_is_tried(self):
        every = {**kill_requests.POINTS, **kill_reapers.POINTS}
        tried = {
            point.removesuffix(' again')
            for points in every.values()
            for point in points
        }
        self.assertEqual({*faultpoints.WRITES} - ELSEWHERE, tried)
