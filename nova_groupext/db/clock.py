# SPDX-License-Identifier: Apache-2.0
"""The database's clock: the one that all planners and schedulers share.

A machine's own clock may be minutes off. What expires, who is late and how old
something is, only the database says. Times are in UTC and naive, as the
columns are. db.api.time() reads it.
"""

import sqlalchemy as sa
from sqlalchemy import sql
from sqlalchemy.ext import compiler


class now(sql.expression.FunctionElement):
    """The time of a statement, as an expression.

    :param seconds: whole seconds that are added
    """

    type = sa.DateTime()
    inherit_cache = True

    def __init__(self, seconds=0):
        super().__init__(sa.literal(int(seconds), sa.Integer()))


@compiler.compiles(now, 'mysql', 'mariadb')
def _mysql(element, compile_, **kwargs):
    seconds = compile_.process(element.clauses, **kwargs)
    return f'TIMESTAMPADD(SECOND, {seconds}, UTC_TIMESTAMP(6))'


@compiler.compiles(now, 'postgresql')
def _postgresql(element, compile_, **kwargs):
    seconds = compile_.process(element.clauses, **kwargs)
    return (
        "(timezone('utc', statement_timestamp()) + "
        f"{seconds} * interval '1 second')"
    )


@compiler.compiles(now, 'sqlite')
def _sqlite(element, compile_, **kwargs):
    # In the form in which SQLAlchemy stores times there: as text.
    seconds = compile_.process(element.clauses, **kwargs)
    return f"strftime('%Y-%m-%d %H:%M:%f000', 'now', {seconds} || ' seconds')"
