# SPDX-License-Identifier: Apache-2.0
"""Base classes of the versioned objects."""

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import copy
import functools
from typing import Any
from typing import ClassVar
from typing import Self

from nova.context import RequestContext
from oslo_serialization import jsonutils
from oslo_versionedobjects import base
from oslo_versionedobjects import fields
import sqlalchemy as sa

from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.db.aliases import Attribute
from nova_groupext.db.aliases import Column
from nova_groupext.db.aliases import Condition


class Json(fields.FieldType):
    """Any JSON value, stored as a deep copy."""

    @staticmethod
    def coerce(obj: base.VersionedObject | None, attr: str, value: Any) -> Any:
        jsonutils.dumps(value)
        return copy.deepcopy(value)


class JsonField(fields.AutoTypedField):
    AUTO_TYPE = Json()


_FIELD_BY_TYPE = {
    sa.Boolean: fields.BooleanField,
    sa.DateTime: functools.partial(fields.DateTimeField, tzinfo_aware=False),
    sa.Float: fields.FloatField,
    sa.Integer: fields.IntegerField,
    sa.JSON: JsonField,
    sa.String: fields.StringField,
    sa.Text: fields.StringField,
}


def fields_of(
    model: type[models.Base], **others: fields.Field
) -> dict[str, fields.Field]:
    """Return the fields of an object: one for each column of its table.

    :param others: fields that are no columns, or have types of their own
    """
    columns = {
        attribute.key: attribute.columns[0]
        for attribute in sa.inspect(model).column_attrs
    }
    return {
        name: _FIELD_BY_TYPE[type(column.type)](
            nullable=getattr(column, 'nullable', False)
        )
        for name, column in columns.items()
    } | others


class VRTObject(base.VersionedObject):
    """An object whose scalar fields are the columns of a row.

    nova_groupext.db.models describes the columns.

    :cvar MODEL: table of the row
    """

    OBJ_SERIAL_NAMESPACE = 'nova_groupext_object'
    OBJ_PROJECT_NAMESPACE = 'nova_groupext'

    MODEL: ClassVar[type[models.Base]]

    @classmethod
    def from_row(
        cls,
        context: RequestContext,
        row: models.Base,
        unread: Collection[str] = (),
        **values: Any,
    ) -> Self:
        """Create the object from a row of its table.

        :param unread: names of columns that were not read; these fields stay
            unset
        :param values: values of the fields that are no columns
        """
        obj = cls(context)
        columns = {*sa.inspect(type(row)).column_attrs.keys()} - {*unread}
        for name in obj.fields:
            if name in values:
                setattr(obj, name, values[name])
            elif name in columns:
                setattr(obj, name, getattr(row, name))
        obj.obj_reset_changes()
        return obj

    @classmethod
    def from_rows(
        cls, context: RequestContext, rows: Iterable[models.Base]
    ) -> list[Self]:
        """Create the objects from rows of the table."""
        return [cls.from_row(context, row) for row in rows]

    @classmethod
    def find_row(
        cls,
        context: RequestContext,
        *conditions: Condition,
        order: Sequence[Column] | None = None,
    ) -> Self | None:
        """Return the object of the first row that meets conditions, or None.

        Only fields that are columns are set.
        """
        row = db.find_one(context, cls.MODEL, *conditions, order=order)
        return cls.from_row(context, row) if row else None

    @classmethod
    def list_rows(
        cls,
        context: RequestContext,
        *conditions: Condition,
        order: Sequence[Column] | None = None,
        load: Sequence[Attribute] = (),
    ) -> list[Self]:
        """Return the objects of the rows that meet conditions.

        Only fields that are columns, or relationships to load, are set.

        :param order: oldest first by default
        """
        rows = db.find(context, cls.MODEL, *conditions, order=order, load=load)
        return cls.from_rows(context, rows)

    @classmethod
    def find_by_id(cls, context: RequestContext, row_id: int) -> Self | None:
        """Return the object with an id as find_row() does."""
        return cls.find_row(context, cls.MODEL.id == row_id)

    @classmethod
    def update_rows(
        cls, context: RequestContext, *conditions: Condition, **values: Any
    ) -> int:
        """Update the rows that meet conditions, and return their number."""
        return db.compare_and_set(context, cls.MODEL, *conditions, **values)

    def update_row(
        self, context: RequestContext, *conditions: Condition, **values: Any
    ) -> int:
        """Update the object's row if it still meets conditions.

        The object itself stays as it is.

        :returns: number of updated rows
        """
        is_own = self.MODEL.id == self.id
        return self.update_rows(context, is_own, *conditions, **values)

    def is_unchanged_for(self, context: RequestContext, seconds: int) -> bool:
        """Check whether the row has not changed for some seconds."""
        is_own = self.MODEL.id == self.id
        is_old = self.MODEL.updated_at < clock.now(-seconds)
        return bool(db.count(context, self.MODEL, is_own, is_old))

    def to_row(self) -> models.Base:
        """Return a new row with the object's fields."""
        return self.MODEL(**self.column_values())

    def column_values(self) -> dict[str, Any]:
        """Return the fields that are set, for a new row.

        The id is left out, because the database assigns it: an object whose
        transaction was aborted is stored again.
        """
        names = {*self.MODEL.__table__.columns.keys()} - {'id'}
        return {
            name: getattr(self, name)
            for name in self.fields
            if name in names and self.obj_attr_is_set(name)
        }
