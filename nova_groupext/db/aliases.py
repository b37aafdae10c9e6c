# SPDX-License-Identifier: Apache-2.0
"""Types of queries and updates."""

from collections.abc import Iterable
from collections.abc import Mapping
import datetime
from typing import Any
from typing import NamedTuple
from typing import TypeAlias

import sqlalchemy as sa
from sqlalchemy import orm

from nova_groupext.db import models

#: Condition of a WHERE clause.
Condition: TypeAlias = sa.SQLColumnExpression[bool]

#: Column of a model, or another expression.
Column: TypeAlias = sa.SQLColumnExpression[Any]

#: Column or relationship of a model.
Attribute: TypeAlias = orm.QueryableAttribute[Any]

#: Naive UTC time, or an expression for it.
Time: TypeAlias = datetime.datetime | sa.SQLColumnExpression[datetime.datetime]

#: Values of columns, or expressions for them, by column name.
Values: TypeAlias = Mapping[str, Any]


class Change(NamedTuple):
    """An update of a transaction.

    :ivar expected: number of rows that have to meet the conditions; None for
        any
    """

    model: type[models.Base]
    conditions: Iterable[Condition]
    values: Values
    expected: int | None = None
