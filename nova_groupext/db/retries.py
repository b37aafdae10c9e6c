# SPDX-License-Identifier: Apache-2.0
"""Retries of transactions that the database has aborted."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import contextvars
import functools
from typing import ParamSpec
from typing import TypeVar

from nova.context import RequestContext
from oslo_db import api as oslo_db_api
from sqlalchemy import orm

from nova_groupext.db import database_errors
from nova_groupext.db import engine

_Args = ParamSpec('_Args')
_Result = TypeVar('_Result')

# Retries deadlocks, MariaDB's "record has changed since last read", and lost
# connections. A pause lasts one second at most; after deadlocks, pauses are
# random from the second one on.
_retry = oslo_db_api.wrap_db_retry(
    max_retries=10,
    retry_interval=0.05,
    max_retry_interval=1,
    retry_on_deadlock=True,
    exception_checker=database_errors.is_transient,
)
in_locked_work = contextvars.ContextVar('in_locked_work', default=False)


def retry_on_abort(
    function: Callable[_Args, _Result],
) -> Callable[_Args, _Result]:
    """Retry a function when the database aborts its transaction.

    Inside with_row_lock() only the whole transaction is retried.
    """
    retrying = _retry(function)

    @functools.wraps(function)
    def wrapper(*args: _Args.args, **kwargs: _Args.kwargs) -> _Result:
        return (function if in_locked_work.get() else retrying)(
            *args, **kwargs
        )

    return wrapper


@contextlib.contextmanager
def write_transaction(context: RequestContext) -> Iterator[orm.Session]:
    """Open a write transaction and yield its session.

    :raises: database_errors.OutcomeUnknown
    """
    is_flushed = False
    try:
        with engine.writer(context) as session:
            yield session
            session.flush()
            is_flushed = True
    except database_errors.ANY as exc:
        if is_flushed and database_errors.is_transient(exc):
            raise database_errors.OutcomeUnknown(exc) from exc
        raise
