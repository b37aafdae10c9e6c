# SPDX-License-Identifier: Apache-2.0
"""Swaps: holds have successors, and stay as tombstones when they have ended

Revision ID: 4b9d2f7e6c15
Revises: 9e2a4c6b8d13
"""

from alembic import op
from oslo_utils import timeutils
import sqlalchemy as sa

revision = '4b9d2f7e6c15'
down_revision = '9e2a4c6b8d13'


def upgrade():
    op.drop_table('vrt_tombstones')
    with op.batch_alter_table(
        'vrt_holds', table_kwargs={'sqlite_autoincrement': True}
    ) as holds:
        holds.alter_column('group_id', existing_type=sa.Integer, nullable=True)
        holds.drop_column('is_answered')
        holds.add_column(sa.Column('otherwise', sa.JSON))
        holds.add_column(
            sa.Column(
                'leaves',
                sa.Boolean,
                nullable=False,
                server_default=sa.false(),
            )
        )
        holds.add_column(sa.Column('watched_at', sa.DateTime))
        holds.add_column(
            sa.Column('looks', sa.Integer, nullable=False, server_default='0')
        )
    op.add_column(
        'vrt_groups',
        sa.Column(
            'is_prepared',
            sa.Boolean,
            nullable=False,
            server_default=sa.false(),
        ),
    )
    op.create_index('ix_vrt_holds_status', 'vrt_holds', ['status'])
    op.create_index('ix_vrt_holds_watched_at', 'vrt_holds', ['watched_at'])
    holds = sa.table(
        'vrt_holds',
        sa.column('status', sa.String),
        sa.column('watched_at', sa.DateTime),
    )
    # A request that fills one of these may still come.
    op.execute(
        holds.update()
        .where(holds.c.status == 'LEAVING')
        .values(status='RELEASING', watched_at=timeutils.utcnow())
    )
