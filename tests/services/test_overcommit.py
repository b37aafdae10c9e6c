# SPDX-License-Identifier: Apache-2.0
"""Placement without overcommitment, by the recommended setting.

``tests/long`` tries other settings and databases, too.
"""

from tests.services import overcommit
from tests.services import servers


class TestOneAttempt(overcommit.SafeSettings, overcommit.OvercommitRace):
    SERVER = servers.MARIADB
    SETTINGS = overcommit.ONE_ATTEMPT
