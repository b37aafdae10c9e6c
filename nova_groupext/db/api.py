# SPDX-License-Identifier: Apache-2.0
"""The few database operations that all objects are made of.

Every function is one transaction, or a part of the one that locked() makes.
Rows are returned detached, with what the caller asked to be loaded. What the
database breaks off, for the sake of another transaction or because the
connection is lost, has done nothing, and is run again. Only if the connection
is lost at the commit nobody knows: then errors.OutcomeUnknown is raised.
"""

import contextlib
import contextvars
import functools

from oslo_db import api as oslo_db_api
from oslo_db import exception as db_exc
import sqlalchemy as sa
from sqlalchemy import orm

from nova_groupext.db import clock
from nova_groupext.db import engine
from nova_groupext.db import errors

# Deadlocks, what MariaDB calls a record that has changed since it was read,
# and lost connections. The pauses are seconds at most, and random from the
# second one on.
_retry = oslo_db_api.wrap_db_retry(
    max_retries=10,
    retry_interval=0.05,
    max_retry_interval=1,
    retry_on_deadlock=True,
    exception_checker=errors.is_passing,
)
_is_inside = contextvars.ContextVar('_is_inside', default=False)


def _retried(function):
    """Run a function again when the database has broken it off.

    Not inside locked(): all of that is broken off, and is run again.
    """
    again = _retry(function)

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return (function if _is_inside.get() else again)(*args, **kwargs)

    return wrapper


@contextlib.contextmanager
def _writing(context):
    """A write transaction's session.

    :raises: errors.OutcomeUnknown
    """
    is_written = False
    try:
        with engine.writer(context) as session:
            yield session
            session.flush()
            is_written = True
    except errors.ANY as exc:
        if is_written and errors.is_passing(exc):
            raise errors.OutcomeUnknown(exc) from exc
        raise


def create(context, row):
    """Store a new row with all that hangs on it, and return it.

    :raises: oslo_db.exception.DBDuplicateEntry
    """
    [created] = create_all(context, [row])
    return created


@_retried
def create_all(context, rows):
    """Store new rows in one transaction, and return them.

    They are not read again: that would forget what hangs on them, which is
    needed if the transaction has to be run again.
    """
    with _writing(context) as session:
        session.add_all(rows)
        session.flush()
        return rows


@_retried
def find(
    context, model, *conditions, load=(), without=(), order=None, limit=None
):
    """Return the rows that meet the conditions, oldest first.

    :param load: relationships to load along, as model attributes; what there
        is only one of costs no further query
    :param without: columns of what is loaded along that are not read
    """
    query = (
        sa.select(model)
        .where(*conditions)
        .order_by(*(order or (model.id,)))
        .options(*(_loading(each, without) for each in load))
    )
    if limit is not None:
        query = query.limit(limit)
    with engine.reader(context) as session:
        return list(session.scalars(query).unique())


def _loading(relationship, without):
    many = relationship.property.uselist
    option = (orm.selectinload if many else orm.joinedload)(relationship)
    for column in without:
        if column.class_ is relationship.property.mapper.class_:
            option = option.defer(column)
    return option


def find_one(context, model, *conditions, load=(), order=None):
    """Return the first row that meets the conditions, or None."""
    rows = find(context, model, *conditions, load=load, order=order, limit=1)
    return rows[0] if rows else None


@_retried
def find_pairs(context, model, other, joined_by, *conditions):
    """Return [(row, row of another table or None)], in one statement.

    :param joined_by: the condition by which two rows belong together
    """
    query = (
        sa.select(model, other)
        .outerjoin(other, joined_by)
        .where(*conditions)
        .order_by(model.id, other.id)
    )
    with engine.reader(context) as session:
        return [tuple(row) for row in session.execute(query)]


@_retried
def find_columns(context, columns, model, *conditions):
    """Return the values of columns, or expressions, of the rows."""
    query = sa.select(*columns).select_from(model).where(*conditions)
    with engine.reader(context) as session:
        return [list(row) for row in session.execute(query)]


@_retried
def count(context, model, *conditions):
    query = sa.select(sa.func.count()).select_from(model).where(*conditions)
    with engine.reader(context) as session:
        return session.scalar(query)


@_retried
def time(context):
    """Return the time of the database's clock; see db/clock.py."""
    with engine.reader(context) as session:
        return session.scalar(sa.select(clock.now()))


@_retried
def count_each(context, model, column, *conditions):
    """Return {value of a column: how many rows have it}."""
    counted = sa.select(column, sa.func.count(model.id))
    query = counted.where(*conditions).group_by(column)
    with engine.reader(context) as session:
        return dict(session.execute(query).all())


@_retried
def tally(context, model, alike, *conditions):
    """Count the rows that meet the conditions, by the columns ``alike``.

    :returns: [(one of the rows that are alike, how many there are)]
    """
    kinds = (
        sa.select(sa.func.min(model.id).label('id'), sa.func.count())
        .where(*conditions)
        .group_by(*alike)
        .subquery()
    )
    query = sa.select(model, kinds.c.count).join(kinds, model.id == kinds.c.id)
    with engine.reader(context) as session:
        return [tuple(row) for row in session.execute(query)]


@_retried
def compare_and_set(context, model, *conditions, **values):
    """Update the rows that still meet the conditions.

    :returns: how many there were: 0 tells that somebody else was faster
    """
    statement = sa.update(model).where(*conditions).values(**values)
    with _writing(context) as session:
        return session.execute(statement).rowcount


@_retried
def compare_and_set_all(context, *changes):
    """Make several updates in one transaction, or none of them.

    Inside locked() that is the caller's to see to: what was made before the
    mismatch is undone when the work raises.

    :param changes: (model, conditions, values, how many rows are expected or
        None where any number will do)
    :returns: how many rows each update met, or None when one met others than
        expected
    """
    counts = []
    try:
        with _writing(context) as session:
            for model, conditions, values, expected in changes:
                statement = sa.update(model).where(*conditions)
                done = session.execute(statement.values(**values))
                if expected not in (None, done.rowcount):
                    raise _Mismatch
                counts.append(done.rowcount)
    except _Mismatch:
        return None
    return counts


class _Mismatch(Exception):
    """Rolls a transaction back."""


@_retried
def insert(context, model, **values):
    """Store a row of which the database works out some values.

    A row of create() forgets how when its transaction is broken off.

    :raises: oslo_db.exception.DBDuplicateEntry, DBReferenceError
    """
    with _writing(context) as session:
        session.execute(sa.insert(model).values(**values))


def ensure(context, model, **key):
    """Make a row if it is missing.

    :param key: columns of the row that are unique together, with their values
    """
    conditions = [getattr(model, name) == key[name] for name in key]
    if find_one(context, model, *conditions) is None:
        with contextlib.suppress(db_exc.DBDuplicateEntry):
            create(context, model(**key))


@_retried
def locked(context, model, work, **key):
    """Do some work in one transaction that has a row to itself.

    What the work reads and writes, with the same context, belongs to the
    transaction. That counts up the row's counter before it reads anything:
    so the row is locked in every database, and nothing is read from before
    that. Other nodes of a Galera cluster know nothing of the lock; that the
    counter has changed meanwhile they find out at the commit, which breaks
    off all but one.

    The database may break the work off at any statement of it, and at the
    very end; then it is done again. So it has to be one that can be: what it
    changes besides the database, above all objects of the caller, it finds
    changed the second time. Change these when locked() has returned.

    :param work: called without arguments; again if it was broken off
    :param key: columns of the row that are unique together, with their values
    :returns: what the work returns; None, without any work, when there is no
        such row
    """
    conditions = [getattr(model, name) == key[name] for name in key]
    with _writing(context) as session:
        lock = (
            sa.update(model)
            .where(*conditions)
            .values(
                counter=model.counter + 1,
                # Else the row would be told to be changed: see onupdate.
                updated_at=model.updated_at,
            )
        )
        if not session.execute(lock).rowcount:
            return None
        inside = _is_inside.set(True)
        try:
            return work()
        finally:
            _is_inside.reset(inside)


@_retried
def delete(context, model, *conditions):
    """Delete rows together with what hangs on them; return how many.

    They are locked first, so that they still meet the conditions at the end.
    """
    query = sa.select(model).where(*conditions).with_for_update()
    with _writing(context) as session:
        rows = list(session.scalars(query))
        for row in rows:
            session.delete(row)
        return len(rows)
