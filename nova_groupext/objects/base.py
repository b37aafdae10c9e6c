# SPDX-License-Identifier: Apache-2.0
"""Base classes of the versioned objects."""

from collections.abc import Collection
import copy
from typing import Any
from typing import Self

from nova.context import RequestContext
from oslo_serialization import jsonutils
from oslo_versionedobjects import base
from oslo_versionedobjects import fields
import sqlalchemy as sa

from nova_groupext.db import models


class Json(fields.FieldType):
    """Any JSON value, stored as a deep copy."""

    @staticmethod
    def coerce(obj: base.VersionedObject | None, attr: str, value: Any) -> Any:
        jsonutils.dumps(value)
        return copy.deepcopy(value)

    @staticmethod
    def to_primitive(
        obj: base.VersionedObject | None, attr: str, value: Any
    ) -> Any:
        return value

    @staticmethod
    def from_primitive(
        obj: base.VersionedObject | None, attr: str, value: Any
    ) -> Any:
        return value


class JsonField(fields.AutoTypedField):
    AUTO_TYPE = Json()


class VRTObject(base.VersionedObject):
    """An object whose scalar fields are the columns of a row."""

    OBJ_SERIAL_NAMESPACE = 'nova_groupext_object'
    OBJ_PROJECT_NAMESPACE = 'nova_groupext'

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

    def column_values(self, model: type[models.Base]) -> dict[str, Any]:
        """Return the fields that are set, for a new row of a table.

        The id is left out, because the database assigns it: an object whose
        transaction was aborted is stored again.
        """
        names = {*model.__table__.columns.keys()} - {'id'}
        return {
            name: getattr(self, name)
            for name in self.fields
            if name in names and self.obj_attr_is_set(name)
        }
