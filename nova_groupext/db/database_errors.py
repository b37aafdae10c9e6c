# SPDX-License-Identifier: Apache-2.0
"""Errors that a database raises, ours or one of Nova's.

oslo.db translates the errors that it knows. SQLAlchemy's own errors report the
others: a missing MariaDB table; a server that is read-only, full, stopping or
out of connections; a PostgreSQL server that refuses a connection. Errors
during connection setup may be the driver's own.
"""

from collections.abc import Iterator
import importlib

from oslo_db import exception as db_exc
from sqlalchemy import exc as sa_exc

# Drivers of the supported databases. Except for SQLite's, operators install
# only those that they need.
DRIVERS = ('sqlite3', 'pymysql', 'psycopg2')


class OutcomeUnknown(db_exc.DBError):
    """A lost answer to a commit: it may have taken effect or not."""


def _errors_of_drivers() -> Iterator[type[Exception]]:
    for name in DRIVERS:
        try:
            yield importlib.import_module(name).Error
        except ImportError:
            continue


# Every handler of database errors catches these.
ANY = (db_exc.DBError, sa_exc.SQLAlchemyError, *_errors_of_drivers())

# A retry on another connection may succeed after these.
_TRANSIENT = (
    db_exc.DBConnectionError,
    sa_exc.OperationalError,
    sa_exc.TimeoutError,
)

# Codes of MariaDB and PostgreSQL for a missing table.
_NO_SUCH_TABLE = (1146, '42P01')


def is_missing_table(error: Exception) -> bool:
    """Check for a missing table; oslo.db translates only some of these."""
    wrapped = getattr(error, 'inner_exception', None) or error
    original = getattr(wrapped, 'orig', None)
    codes = (*getattr(original, 'args', ()), getattr(original, 'pgcode', None))
    return isinstance(error, db_exc.DBNonExistentTable) or any(
        code in _NO_SUCH_TABLE for code in codes
    )


def is_transient(error: Exception) -> bool:
    """Check whether a retry of the statement may succeed."""
    return isinstance(error, _TRANSIENT)
