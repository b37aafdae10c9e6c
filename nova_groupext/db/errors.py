# SPDX-License-Identifier: Apache-2.0
"""The errors that a database raises, ours or one of Nova's.

oslo.db translates the errors that it knows. A table of MariaDB that is gone,
a server that is read-only, full, about to stop or has too many connections,
and a PostgreSQL that refuses one come as SQLAlchemy's errors; what happens
while a connection is made ready may come as the driver's own.
"""

import importlib

from oslo_db import exception as db_exc
from sqlalchemy import exc as sa_exc

# Of the kinds of databases that our tables may be on; all but SQLite's are
# installed by operators who need them.
DRIVERS = ('sqlite3', 'pymysql', 'psycopg2')


class OutcomeUnknown(db_exc.DBError):
    """The answer to a commit was lost: it may have taken place or not."""


def _errors_of_drivers():
    for name in DRIVERS:
        try:
            yield importlib.import_module(name).Error
        except ImportError:
            continue


# To be named in every handler of trouble with a database.
ANY = (db_exc.DBError, sa_exc.SQLAlchemyError, *_errors_of_drivers())

# The same statement may succeed on another connection.
_PASSING = (
    db_exc.DBConnectionError,
    sa_exc.OperationalError,
    sa_exc.TimeoutError,
)

# As MariaDB and PostgreSQL say that there is no such table.
_NO_SUCH_TABLE = (1146, '42P01')


def is_missing_table(error):
    """Check for a missing table, which oslo.db translates in part only."""
    wrapped = getattr(error, 'inner_exception', None) or error
    original = getattr(wrapped, 'orig', None)
    codes = (*getattr(original, 'args', ()), getattr(original, 'pgcode', None))
    return isinstance(error, db_exc.DBNonExistentTable) or any(
        code in _NO_SUCH_TABLE for code in codes
    )


def is_passing(error):
    """Check whether the same statement may succeed a moment later."""
    return isinstance(error, _PASSING)
