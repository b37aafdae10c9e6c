# SPDX-License-Identifier: Apache-2.0
"""Does Placement give away more than there is to parallel writers?"""

from tests.services import overcommit
from tests.services import servers


class TestDefaultsOnMariaDB(overcommit.Defaults, overcommit.Race):
    SERVER = servers.MARIADB


class TestDefaultsOnPostgreSQL(overcommit.Defaults, overcommit.Race):
    SERVER = servers.POSTGRESQL


class TestOneAttemptOnPostgreSQL(overcommit.Safe, overcommit.Race):
    SERVER = servers.POSTGRESQL
    SETTINGS = overcommit.ONE_ATTEMPT


class TestSnapshotIsolationOnMariaDB(overcommit.Safe, overcommit.Race):
    SERVER = servers.SNAPSHOTS
    # Placement waits a second or more before it tries again.
    ROUNDS = 8
