# SPDX-License-Identifier: Apache-2.0
"""Holds that have ended are remembered for a while

Revision ID: 5a9c3e7b1d64
Revises: 2b8e6d4f1a93
"""

from alembic import op
import sqlalchemy as sa

revision = '5a9c3e7b1d64'
down_revision = '2b8e6d4f1a93'


def upgrade():
    op.create_table(
        'vrt_tombstones',
        sa.Column('created_at', sa.DateTime),
        sa.Column('updated_at', sa.DateTime),
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.PrimaryKeyConstraint('id', name='pk_vrt_tombstones'),
        sa.UniqueConstraint('uuid', name='uniq_vrt_tombstones_uuid'),
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        sqlite_autoincrement=True,
    )
    op.create_index(
        'ix_vrt_tombstones_created_at', 'vrt_tombstones', ['created_at']
    )
