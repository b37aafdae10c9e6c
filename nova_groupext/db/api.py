# SPDX-License-Identifier: Apache-2.0
"""Database operations that all objects are built from.

Every function is one transaction, or a part of the one that with_row_lock()
opens. Rows are returned detached, with the relationships that the caller asked
for. A transaction that the database aborts, because of another transaction or
a lost connection, has no effect and is retried. If the connection is lost
during the commit, the outcome is unknown: database_errors.OutcomeUnknown is
raised.
"""

import contextlib
import contextvars
import functools

from oslo_db import api as oslo_db_api
from oslo_db import exception as db_exc
import sqlalchemy as sa
from sqlalchemy import orm

from nova_groupext.db import clock
from nova_groupext.db import database_errors
from nova_groupext.db import engine

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
_in_locked_work = contextvars.ContextVar('_in_locked_work', default=False)


def _retry_on_abort(function):
    """Retry a function when the database aborts its transaction.

    Inside with_row_lock() only the whole transaction is retried.
    """
    retrying = _retry(function)

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return (function if _in_locked_work.get() else retrying)(
            *args, **kwargs
        )

    return wrapper


@contextlib.contextmanager
def _write_transaction(context):
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


def create(context, row):
    """Insert a row with its related rows, and return it.

    :raises: oslo_db.exception.DBDuplicateEntry
    """
    [created] = create_all(context, [row])
    return created


@_retry_on_abort
def create_all(context, rows):
    """Insert rows with their related rows in one transaction; return them.

    The rows are not refreshed: a refresh would drop the related rows, which a
    retry of the transaction needs.
    """
    with _write_transaction(context) as session:
        session.add_all(rows)
        session.flush()
        return rows


@_retry_on_abort
def find(
    context, model, *conditions, load=(), deferred=(), order=None, limit=None
):
    """Return the rows that meet the conditions, by default oldest first.

    :param load: relationships to load, as model attributes; a scalar
        relationship costs no further query
    :param deferred: columns of the related rows that are not read
    """
    query = (
        sa.select(model)
        .where(*conditions)
        .order_by(*(order or (model.id,)))
        .options(*(_load_option(relation, deferred) for relation in load))
    )
    if limit is not None:
        query = query.limit(limit)
    with engine.reader(context) as session:
        return list(session.scalars(query).unique())


def _load_option(relationship, deferred):
    is_list = relationship.property.uselist
    option = (orm.selectinload if is_list else orm.joinedload)(relationship)
    for column in deferred:
        if column.class_ is relationship.property.mapper.class_:
            option = option.defer(column)
    return option


def find_one(context, model, *conditions, load=(), order=None):
    """Return the first row that meets the conditions, or None."""
    rows = find(context, model, *conditions, load=load, order=order, limit=1)
    return rows[0] if rows else None


@_retry_on_abort
def left_join(context, model, other, on, *conditions):
    """Return [(row, row of the other table or None)] of one statement.

    :param on: the join condition
    """
    query = (
        sa.select(model, other)
        .outerjoin(other, on)
        .where(*conditions)
        .order_by(model.id, other.id)
    )
    with engine.reader(context) as session:
        return [tuple(row) for row in session.execute(query)]


@_retry_on_abort
def find_columns(context, columns, model, *conditions):
    """Return the values of columns, or expressions, of the matching rows."""
    query = sa.select(*columns).select_from(model).where(*conditions)
    with engine.reader(context) as session:
        return [list(row) for row in session.execute(query)]


@_retry_on_abort
def count(context, model, *conditions):
    query = sa.select(sa.func.count()).select_from(model).where(*conditions)
    with engine.reader(context) as session:
        return session.scalar(query)


@_retry_on_abort
def time(context):
    """Return the current time of the database's clock; see db/clock.py."""
    with engine.reader(context) as session:
        return session.scalar(sa.select(clock.now()))


@_retry_on_abort
def count_each(context, model, column, *conditions):
    """Return {value of a column: number of rows with that value}."""
    counts = sa.select(column, sa.func.count(model.id))
    query = counts.where(*conditions).group_by(column)
    with engine.reader(context) as session:
        return dict(session.execute(query).all())


@_retry_on_abort
def count_by(context, model, columns, *conditions):
    """Count the rows that meet the conditions, by the values of some columns.

    :returns: [(row with the lowest id of equal ones, number of these)]
    """
    counts = (
        sa.select(sa.func.min(model.id).label('id'), sa.func.count())
        .where(*conditions)
        .group_by(*columns)
        .subquery()
    )
    query = sa.select(model, counts.c.count).join(
        counts, model.id == counts.c.id
    )
    with engine.reader(context) as session:
        return [tuple(row) for row in session.execute(query)]


@_retry_on_abort
def compare_and_set(context, model, *conditions, **values):
    """Update the rows that still meet the conditions.

    :returns: number of updated rows; 0 means that they no longer match
    """
    with _write_transaction(context) as session:
        return session.execute(_update(model, conditions, values)).rowcount


def _update(model, conditions, values):
    """Return an UPDATE, which also sets ``fault_at`` if it sets a fault."""
    if 'fault' in values and hasattr(model, 'fault_at'):
        fault_at = None if values['fault'] is None else clock.now()
        values = {**values, 'fault_at': fault_at}
    return sa.update(model).where(*conditions).values(**values)


@_retry_on_abort
def compare_and_set_all(context, *changes):
    """Execute several updates in one transaction, or none of them.

    Inside with_row_lock() the caller has to raise on a mismatch: only that
    rolls back the updates made before it.

    :param changes: (model, conditions, values, expected number of rows, or
        None for any number)
    :returns: number of rows that each update matched, or None when a number
        differs from the expected one
    """
    counts = []
    try:
        with _write_transaction(context) as session:
            for model, conditions, values, expected in changes:
                result = session.execute(_update(model, conditions, values))
                if expected not in (None, result.rowcount):
                    raise _Mismatch
                counts.append(result.rowcount)
    except _Mismatch:
        return None
    return counts


class _Mismatch(Exception):
    """Internal signal that rolls a transaction back."""


@_retry_on_abort
def insert(context, model, **values):
    """Insert a row with values that the database computes.

    create() cannot retry such a row: the aborted transaction drops the
    expressions.

    :raises: oslo_db.exception.DBDuplicateEntry, DBReferenceError
    """
    with _write_transaction(context) as session:
        session.execute(sa.insert(model).values(**values))


def insert_if_missing(context, model, **key):
    """Insert a row unless it exists.

    :param key: columns that are unique together, with their values
    """
    conditions = [getattr(model, name) == key[name] for name in key]
    if find_one(context, model, *conditions) is None:
        with contextlib.suppress(db_exc.DBDuplicateEntry):
            create(context, model(**key))


@_retry_on_abort
def with_row_lock(context, model, work, **key):
    """Run work in one transaction that locks a row.

    All reads and writes of the work with the same context belong to the
    transaction. The transaction increments the row's counter before it reads
    anything: this locks the row in every database and makes later reads
    current. Other nodes of a Galera cluster do not see the lock, but detect
    the changed counter at commit, where all transactions but one are aborted.

    The database may abort the work at any statement or at the commit; the work
    then runs again. Objects that it has changed in memory keep these changes,
    so change them only after with_row_lock() has returned.

    :param work: called without arguments; again after each abort
    :param key: columns that are unique together, with their values
    :returns: the result of the work; None, without running it, when there is
        no such row
    """
    conditions = [getattr(model, name) == key[name] for name in key]
    with _write_transaction(context) as session:
        lock = (
            sa.update(model)
            .where(*conditions)
            .values(
                counter=model.counter + 1,
                # Prevents onupdate from setting the current time.
                updated_at=model.updated_at,
            )
        )
        if not session.execute(lock).rowcount:
            return None
        token = _in_locked_work.set(True)
        try:
            return work()
        finally:
            _in_locked_work.reset(token)


@_retry_on_abort
def delete(context, model, *conditions):
    """Delete the matching rows with their related rows; return the number.

    The rows are locked first, so that they still match when deleted.
    """
    query = sa.select(model).where(*conditions).with_for_update()
    with _write_transaction(context) as session:
        rows = list(session.scalars(query))
        for row in rows:
            session.delete(row)
        return len(rows)
