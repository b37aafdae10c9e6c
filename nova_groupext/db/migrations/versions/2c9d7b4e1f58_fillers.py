# SPDX-License-Identifier: Apache-2.0
"""Fillers: holds without a member, where a group has hosts to itself

Revision ID: 2c9d7b4e1f58
Revises: 4f6b8d0e2a97
"""

from alembic import op
import sqlalchemy as sa

revision = '2c9d7b4e1f58'
down_revision = '4f6b8d0e2a97'


def upgrade():
    with op.batch_alter_table(
        'vrt_holds', table_kwargs={'sqlite_autoincrement': True}
    ) as holds:
        holds.alter_column(
            'member_id', existing_type=sa.Integer, nullable=True
        )
