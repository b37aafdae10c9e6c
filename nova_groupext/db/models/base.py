# SPDX-License-Identifier: Apache-2.0
"""The base of all tables, and columns that several of them have."""

from oslo_db.sqlalchemy import models
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import mysql

from nova_groupext.db import clock

NAMING = {
    'ix': 'ix_%(table_name)s_%(column_0_N_name)s',
    'uq': 'uniq_%(table_name)s_%(column_0_N_name)s',
    'fk': 'fk_%(table_name)s_%(column_0_name)s',
    'pk': 'pk_%(table_name)s',
}
# SQLite must not reuse ids either: data that names a deleted row must not
# refer to a new one.
OPTIONS = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'sqlite_autoincrement': True,
}


def case_sensitive(length: int) -> sa.String:
    """Return a case-sensitive string type, on MySQL as well."""
    return sa.String(length).with_variant(
        mysql.VARCHAR(length, charset='utf8mb4', collation='utf8mb4_bin'),
        'mysql',
        'mariadb',
    )


PATH = case_sensitive(512)


class Base(models.ModelBase, orm.DeclarativeBase):
    metadata = sa.MetaData(naming_convention=NAMING)
    # A table with constraints repeats the options beside these.
    __table_args__ = (OPTIONS,)

    id = sa.Column(sa.Integer, primary_key=True)
    created_at = sa.Column(sa.DateTime, default=clock.now())
    updated_at = sa.Column(sa.DateTime, onupdate=clock.now())


def group_key(*, is_indexed: bool = True) -> sa.Column[int]:
    """Return the column of a part's group.

    :param is_indexed: False where a unique constraint has an index
    """
    return sa.Column(
        sa.Integer,
        sa.ForeignKey('vrt_groups.id', ondelete='CASCADE'),
        nullable=False,
        index=is_indexed,
    )


def counter() -> sa.Column[int]:
    """Return a column that counts transactions of db.api.with_row_lock()."""
    return sa.Column(sa.Integer, nullable=False, default=0, server_default='0')
