# SPDX-License-Identifier: Apache-2.0
"""A revision may drop members whose servers go on

Revision ID: 3d8f6b1a9c47
Revises: 7e3a5c1d9b20
"""

from alembic import op
import sqlalchemy as sa

revision = '3d8f6b1a9c47'
down_revision = '7e3a5c1d9b20'


def upgrade():
    with op.batch_alter_table(
        'vrt_groups', table_kwargs={'sqlite_autoincrement': True}
    ) as groups:
        groups.add_column(
            sa.Column(
                'keep_server',
                sa.Boolean,
                nullable=False,
                server_default=sa.false(),
            )
        )
