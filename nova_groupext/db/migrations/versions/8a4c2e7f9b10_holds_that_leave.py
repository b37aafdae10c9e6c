# SPDX-License-Identifier: Apache-2.0
"""Holds that leave: who is known not to be written any more

Revision ID: 8a4c2e7f9b10
Revises: 6d1f0a5c2b3e
"""

from alembic import op
import sqlalchemy as sa

revision = '8a4c2e7f9b10'
down_revision = '6d1f0a5c2b3e'


def upgrade():
    with op.batch_alter_table(
        'vrt_holds', table_kwargs={'sqlite_autoincrement': True}
    ) as holds:
        holds.add_column(
            sa.Column(
                'is_answered',
                sa.Boolean,
                nullable=False,
                server_default=sa.false(),
            )
        )
        # Read from Placement where it is needed.
        holds.drop_column('consumer_generation')
    # Held ones were written down only after Placement had answered.
    held = sa.table('vrt_holds', sa.column('status'), sa.column('is_answered'))
    op.execute(
        sa.update(held)
        .where(held.c.status != 'WRITING')
        .values(is_answered=sa.true())
    )
