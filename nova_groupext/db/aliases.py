# SPDX-License-Identifier: Apache-2.0
"""Type aliases of queries and updates."""

from collections.abc import Mapping
from collections.abc import Sequence
import datetime
from typing import Any
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

#: Update of a transaction: model, conditions, values, expected number of rows,
#: or None for any number.
Change: TypeAlias = tuple[
    type[models.Base], Sequence[Condition], Values, int | None
]
