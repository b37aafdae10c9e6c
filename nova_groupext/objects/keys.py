# SPDX-License-Identifier: Apache-2.0
"""Secrets of this cloud that the program generates."""

import functools
import secrets

from nova import context as nova_context
from oslo_db import exception as db_exc

from nova_groupext.db import api as db
from nova_groupext.db import models

# Key that turns the names of domains into ids
DOMAIN_KEY = 'domains'


@functools.cache
def get_cached(name: str) -> str:
    """Return a secret, the same in all processes of a cloud."""
    return get_or_create(name)


def get_or_create(name: str) -> str:
    """Return a secret; generate it if no process has done so before."""
    context = nova_context.get_admin_context()
    has_name = models.Key.name == name
    row = db.find_one(context, models.Key, has_name)
    if row is not None:
        return row.value
    value = secrets.token_hex()
    try:
        db.insert(context, models.Key, name=name, value=value)
    except db_exc.DBDuplicateEntry:
        # Another process was faster.
        return db.find_one(context, models.Key, has_name).value
    return value
