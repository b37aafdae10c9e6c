# SPDX-License-Identifier: Apache-2.0
"""Overcommitment of a provider in Placement by parallel writers."""

from tests.services import overcommit
from tests.services import servers


class TestDefaultsOnMariaDB(
    overcommit.DefaultSettings, overcommit.OvercommitRace
):
    SERVER = servers.MARIADB


class TestDefaultsOnPostgreSQL(
    overcommit.DefaultSettings, overcommit.OvercommitRace
):
    SERVER = servers.POSTGRESQL


class TestOneAttemptOnPostgreSQL(
    overcommit.SafeSettings, overcommit.OvercommitRace
):
    SERVER = servers.POSTGRESQL
    SETTINGS = overcommit.ONE_ATTEMPT


class TestSnapshotIsolationOnMariaDB(
    overcommit.SafeSettings, overcommit.OvercommitRace
):
    SERVER = servers.SNAPSHOTS
    # Placement waits a second or more before it tries again.
    ROUNDS = 8
