# SPDX-License-Identifier: Apache-2.0
"""Alembic runs this for every command; see nova_groupext.db.migration."""

from alembic import context

from nova_groupext.db import engine
from nova_groupext.db import migration
from nova_groupext.db import models


def run():
    with engine.connect() as connection:
        context.configure(
            connection=connection,
            target_metadata=models.Base.metadata,
            version_table=migration.VERSION_TABLE,
            render_as_batch=True,
        )
        with context.begin_transaction():
            context.run_migrations()


run()
