# SPDX-License-Identifier: Apache-2.0
"""Secrets of this cloud that the program generates."""

import functools
import secrets

from nova import context as nova_context
from oslo_db import exception as db_exc

from nova_groupext.db import api as db
from nova_groupext.db import models

# Key that turns the names of domains into ids
DOMAINS = 'domains'


@functools.cache
def stored(name):
    """Return a secret, the same in all processes of a cloud."""
    return find_or_make(name)


def find_or_make(name):
    """Return a secret; generate it if no process has done so before."""
    context = nova_context.get_admin_context()
    own = models.Key.name == name
    row = db.find_one(context, models.Key, own)
    if row is not None:
        return row.value
    value = secrets.token_hex()
    try:
        db.insert(context, models.Key, name=name, value=value)
    except db_exc.DBDuplicateEntry:
        # Another process was faster.
        return db.find_one(context, models.Key, own).value
    return value
