# SPDX-License-Identifier: Apache-2.0
"""The database's clock, which all planners and schedulers share.

Clocks of machines may differ by minutes, so only the database's clock decides
what has expired, is late or is old. Times are naive UTC, like the columns.
db.api.time() reads the clock.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import sql
from sqlalchemy.ext import compiler


class now(sql.expression.FunctionElement):
    """SQL expression for the time of the statement.

    :param seconds: whole seconds to add
    """

    type = sa.DateTime()
    inherit_cache = True

    def __init__(self, seconds: float = 0) -> None:
        super().__init__(sa.literal(int(seconds), sa.Integer()))


@compiler.compiles(now, 'mysql', 'mariadb')
def _mysql(
    element: now, compile_: sql.compiler.SQLCompiler, **kwargs: Any
) -> str:
    seconds = compile_.process(element.clauses, **kwargs)
    return f'TIMESTAMPADD(SECOND, {seconds}, UTC_TIMESTAMP(6))'


@compiler.compiles(now, 'postgresql')
def _postgresql(
    element: now, compile_: sql.compiler.SQLCompiler, **kwargs: Any
) -> str:
    seconds = compile_.process(element.clauses, **kwargs)
    return (
        "(timezone('utc', statement_timestamp()) + "
        f"{seconds} * interval '1 second')"
    )


@compiler.compiles(now, 'sqlite')
def _sqlite(
    element: now, compile_: sql.compiler.SQLCompiler, **kwargs: Any
) -> str:
    # SQLite holds times as text; this is SQLAlchemy's format.
    seconds = compile_.process(element.clauses, **kwargs)
    return f"strftime('%Y-%m-%d %H:%M:%f000', 'now', {seconds} || ' seconds')"
