# SPDX-License-Identifier: Apache-2.0
"""Databases of try-out clouds, migrated once and copied from then on."""

import contextlib
import dataclasses
import pathlib
import sqlite3

# Placement migrates its own, which takes no time.
_NAMES = ('api', 'cell0', 'cell1')
# {what prepares a cloud: {name of a database: its content}}
_stored = {}


def copy_databases(state, parts):
    """Copy migrated databases, if any, into the directory of a new cloud.

    :param state: path of an empty directory
    :param parts: the cloud's parts.Parts
    :returns: parts to start the cloud with
    """
    contents = _stored.get(parts.prepare)
    if contents is None:
        return _storing(state, parts)
    # The mark of a directory that is a cloud's.
    pathlib.Path(state, 'lock').touch()
    for name, content in contents.items():
        _database_path(state, name).write_bytes(content)
    return parts


def _database_path(state, name):
    return pathlib.Path(state, f'{name}.sqlite')


def _storing(state, parts):
    """Return parts whose prepare() also stores the migrated databases."""

    def prepare(stack):
        parts.prepare(stack)
        _stored[parts.prepare] = {
            name: _read_database(_database_path(state, name))
            for name in _NAMES
        }

    return dataclasses.replace(parts, prepare=prepare)


def _read_database(file):
    """Return a database without the paths of its cloud."""
    with (
        contextlib.closing(sqlite3.connect(file)) as original,
        contextlib.closing(sqlite3.connect(':memory:')) as copy,
    ):
        original.backup(copy)
        if file.stem == 'api':
            copy.execute('DELETE FROM cell_mappings')
            copy.commit()
        return copy.serialize()
