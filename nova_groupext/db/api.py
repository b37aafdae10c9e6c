# SPDX-License-Identifier: Apache-2.0
"""Database operations that all objects are built from.

Every function is one transaction, or a part of the one that with_row_lock()
opens. Rows are returned detached, with the relationships that the caller asked
for. A transaction that the database aborts, because of another transaction or
a lost connection, has no effect and is retried. If the connection is lost
during the commit, the outcome is unknown: database_errors.OutcomeUnknown is
raised.
"""

from collections.abc import Callable
from collections.abc import Sequence
import contextlib
import datetime
from typing import Any
from typing import TypeAlias
from typing import TypeVar

from nova.context import RequestContext
from oslo_db import exception as db_exc
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.orm import interfaces as orm_interfaces

from nova_groupext.db import clock
from nova_groupext.db import engine
from nova_groupext.db import models
from nova_groupext.db import retries
from nova_groupext.db.aliases import Attribute
from nova_groupext.db.aliases import Change
from nova_groupext.db.aliases import Column
from nova_groupext.db.aliases import Condition
from nova_groupext.db.aliases import Values

_Result = TypeVar('_Result')
_Row = TypeVar('_Row', bound=models.Base)
_OtherRow = TypeVar('_OtherRow', bound=models.Base)
_Model: TypeAlias = type[models.Base]


def create(context: RequestContext, row: _Row) -> _Row:
    """Insert a row with its related rows, and return it.

    :raises: oslo_db.exception.DBDuplicateEntry
    """
    [created] = create_all(context, [row])
    return created


@retries.retry_on_abort
def create_all(context: RequestContext, rows: list[_Row]) -> list[_Row]:
    """Insert rows with their related rows in one transaction; return them.

    The rows are not refreshed: a refresh would drop the related rows, which a
    retry of the transaction needs.
    """
    with retries.write_transaction(context) as session:
        session.add_all(rows)
        session.flush()
        return rows


@retries.retry_on_abort
def find(
    context: RequestContext,
    model: type[_Row],
    *conditions: Condition,
    load: Sequence[Attribute] = (),
    deferred: Sequence[Attribute] = (),
    order: Sequence[Column] | None = None,
    limit: int | None = None,
) -> list[_Row]:
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


def _load_option(
    relationship: Attribute, deferred: Sequence[Attribute]
) -> orm_interfaces.ORMOption:
    is_list = relationship.property.uselist
    option = (orm.selectinload if is_list else orm.joinedload)(relationship)
    for column in deferred:
        if column.class_ is relationship.property.mapper.class_:
            option = option.defer(column)
    return option


def find_one(
    context: RequestContext,
    model: type[_Row],
    *conditions: Condition,
    load: Sequence[Attribute] = (),
    order: Sequence[Column] | None = None,
) -> _Row | None:
    """Return the first row that meets the conditions, or None."""
    rows = find(context, model, *conditions, load=load, order=order, limit=1)
    return rows[0] if rows else None


@retries.retry_on_abort
def _execute(context: RequestContext, query: sa.Select) -> list[sa.Row]:
    """Return the rows of a query; each unpacks like a tuple."""
    with engine.reader(context) as session:
        return list(session.execute(query))


def left_join(
    context: RequestContext,
    model: type[_Row],
    other: type[_OtherRow],
    on: Condition,
    *conditions: Condition,
) -> list[tuple[_Row, _OtherRow | None]]:
    """Return [(row, row of the other table or None)] of one statement.

    :param on: the join condition
    """
    query = (
        sa.select(model, other)
        .outerjoin(other, on)
        .where(*conditions)
        .order_by(model.id, other.id)
    )
    return _execute(context, query)


def find_columns(
    context: RequestContext,
    columns: Sequence[Column | _Model],
    model: _Model,
    *conditions: Condition,
) -> list[sa.Row]:
    """Return the values of columns, or expressions, of the matching rows."""
    query = sa.select(*columns).select_from(model).where(*conditions)
    return _execute(context, query)


def count(
    context: RequestContext, model: _Model, *conditions: Condition
) -> int:
    counted = [sa.func.count()]
    [(number,)] = find_columns(context, counted, model, *conditions)
    return number


def time(context: RequestContext) -> datetime.datetime:
    """Return the current time of the database's clock; see db/clock.py."""
    [(now,)] = _execute(context, sa.select(clock.now()))
    return now


def count_each(
    context: RequestContext,
    model: _Model,
    column: Column,
    *conditions: Condition,
) -> dict[Any, int]:
    """Return {value of a column: number of rows with that value}."""
    counts = sa.select(column, sa.func.count(model.id)).where(*conditions)
    return dict(_execute(context, counts.group_by(column)))


def count_by(
    context: RequestContext,
    model: type[_Row],
    columns: Sequence[Column],
    *conditions: Condition,
    load: Sequence[Attribute] = (),
) -> list[tuple[_Row, int]]:
    """Count the rows that meet the conditions, by the values of some columns.

    :param load: see find()
    :returns: [(row with the lowest id of equal ones, number of these)]
    """
    counts = (
        sa.select(sa.func.min(model.id).label('id'), sa.func.count())
        .where(*conditions)
        .group_by(*columns)
        .subquery()
    )
    query = (
        sa.select(model, counts.c.count)
        .join(counts, model.id == counts.c.id)
        .options(*(_load_option(relation, ()) for relation in load))
    )
    return _execute(context, query)


@retries.retry_on_abort
def compare_and_set(
    context: RequestContext,
    model: _Model,
    *conditions: Condition,
    **values: Any,
) -> int:
    """Update the rows that still meet the conditions.

    :returns: number of updated rows; 0 means that they no longer match
    """
    with retries.write_transaction(context) as session:
        change = Change(model, conditions, values)
        return session.execute(_update(change)).rowcount


def _update(change: Change) -> sa.Update:
    """Return an UPDATE, which also sets ``fault_at`` if it sets a fault."""
    values = change.values
    if 'fault' in values and hasattr(change.model, 'fault_at'):
        fault_at = None if values['fault'] is None else clock.now()
        values = {**values, 'fault_at': fault_at}
    return sa.update(change.model).where(*change.conditions).values(**values)


@retries.retry_on_abort
def compare_and_set_all(
    context: RequestContext, *changes: Change
) -> list[int] | None:
    """Execute several updates in one transaction, or none of them.

    Inside with_row_lock() the caller has to raise on a mismatch: only that
    rolls back the updates made before it.

    :returns: number of rows that each update matched, or None when a number
        differs from the expected one
    """
    counts = []
    try:
        with retries.write_transaction(context) as session:
            for change in changes:
                result = session.execute(_update(change))
                if change.expected not in (None, result.rowcount):
                    raise _Mismatch
                counts.append(result.rowcount)
    except _Mismatch:
        return None
    return counts


class _Mismatch(Exception):
    """Internal signal that rolls a transaction back."""


@retries.retry_on_abort
def insert(context: RequestContext, model: _Model, **values: Any) -> None:
    """Insert a row with values that the database computes.

    create() cannot retry such a row: the aborted transaction drops the
    expressions.

    :raises: oslo_db.exception.DBDuplicateEntry, DBReferenceError
    """
    with retries.write_transaction(context) as session:
        session.execute(sa.insert(model).values(**values))


def insert_if_missing(
    context: RequestContext, model: _Model, **key: Any
) -> None:
    """Insert a row unless it exists.

    :param key: columns that are unique together, with their values
    """
    conditions = [getattr(model, name) == key[name] for name in key]
    if find_one(context, model, *conditions) is None:
        with contextlib.suppress(db_exc.DBDuplicateEntry):
            create(context, model(**key))


@retries.retry_on_abort
def with_row_lock(
    context: RequestContext,
    model: _Model,
    work: Callable[[], _Result],
    values: Values | None = None,
    **key: Any,
) -> _Result | None:
    """Run work in one transaction that locks a row.

    All reads and writes of the work with the same context belong to the
    transaction. The transaction increments the row's counter before it reads
    anything: this locks the row in every database and makes later reads
    current. Other nodes of a Galera cluster do not see the lock, but detect
    the changed counter at commit, where all transactions but one are aborted.

    The database may abort the work at any statement or at the commit; the work
    then runs again. Objects that it has changed in memory keep these changes,
    so change them only after with_row_lock() has returned.

    :param work: called again after each abort
    :param values: other values that the row gets with its lock
    :param key: columns that are unique together, with their values
    :returns: the result of the work; None, without running it, when there is
        no such row
    """
    conditions = [getattr(model, name) == key[name] for name in key]
    with retries.write_transaction(context) as session:
        lock = sa.update(model).where(*conditions)
        # The present updated_at prevents onupdate from setting another.
        counted = lock.values(
            **(values or {'updated_at': model.updated_at}),
            counter=model.counter + 1,
        )
        if not session.execute(counted).rowcount:
            return None
        token = retries.in_locked_work.set(True)
        try:
            return work()
        finally:
            retries.in_locked_work.reset(token)


@retries.retry_on_abort
def purge(
    context: RequestContext, model: _Model, *conditions: Condition
) -> None:
    """Delete the matching rows, to which no other row refers."""
    with retries.write_transaction(context) as session:
        session.execute(sa.delete(model).where(*conditions))


@retries.retry_on_abort
def delete(
    context: RequestContext, model: _Model, *conditions: Condition
) -> int:
    """Delete the matching rows with their related rows; return the number.

    The rows are locked first, so that they still match when deleted.
    """
    query = sa.select(model).where(*conditions).with_for_update()
    with retries.write_transaction(context) as session:
        rows = list(session.scalars(query))
        for row in rows:
            session.delete(row)
        return len(rows)
