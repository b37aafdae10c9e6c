# SPDX-License-Identifier: Apache-2.0
"""Each operation is killed where most of it is still to be done.

``tests/long`` kills them at every point.
"""

from tests.services import kill_reapers
from tests.services import kill_requests
from tests.services import kills


class TestRequests(kill_requests.RequestKills):
    """Processes that do what somebody asked for."""


class TestReapers(kill_reapers.ReaperKills):
    """Reapers."""


for _case, _points_of in (
    (TestRequests, kill_requests.POINTS),
    (TestReapers, kill_reapers.POINTS),
):
    for _operation, _points in _points_of.items():
        _point = 'hold.post' if 'hold.post' in _points else _points[0]
        kills.add_kill(_case, _operation, f'after {_point}')
