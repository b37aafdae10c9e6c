# SPDX-License-Identifier: Apache-2.0
"""Revisions: the next definition of a group is a group of its own

Revision ID: 9b3e5d7a1c60
Revises: 2c9d7b4e1f58
"""

from alembic import op
import sqlalchemy as sa

revision = '9b3e5d7a1c60'
down_revision = '2c9d7b4e1f58'


def upgrade():
    with op.batch_alter_table(
        'vrt_groups', table_kwargs={'sqlite_autoincrement': True}
    ) as groups:
        groups.add_column(sa.Column('revises_id', sa.Integer))
        groups.add_column(sa.Column('movable', sa.JSON))
        groups.create_index('ix_vrt_groups_revises_id', ['revises_id'])
        groups.create_foreign_key(
            'fk_vrt_groups_revises_id', 'vrt_groups', ['revises_id'], ['id']
        )
