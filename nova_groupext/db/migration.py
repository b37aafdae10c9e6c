# SPDX-License-Identifier: Apache-2.0
"""Database migrations with alembic."""

import pathlib

from alembic import command
from alembic import config
from alembic import script
from alembic.runtime import migration

from nova_groupext.db import engine

# Distinct from Nova's ``alembic_version`` in the same database.
VERSION_TABLE = 'vrt_alembic_version'


def alembic_config() -> config.Config:
    """Return alembic's configuration, independent of operators' files."""
    settings = config.Config()
    settings.set_main_option(
        'script_location', str(pathlib.Path(__file__).parent / 'migrations')
    )
    return settings


def sync(revision: str = 'head') -> None:
    """Upgrade the database to the revision; do nothing if it has it."""
    command.upgrade(alembic_config(), revision)


def version() -> str | None:
    """Return the database's revision; None before the first sync."""
    with engine.connect() as connection:
        return migration.MigrationContext.configure(
            connection, opts={'version_table': VERSION_TABLE}
        ).get_current_revision()


def head() -> str | None:
    """Return the newest revision that this code contains."""
    scripts = script.ScriptDirectory.from_config(alembic_config())
    return scripts.get_current_head()
