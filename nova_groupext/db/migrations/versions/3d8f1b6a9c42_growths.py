# SPDX-License-Identifier: Apache-2.0
"""Growths: what is held for the resize of a member's server

Revision ID: 3d8f1b6a9c42
Revises: 5c1e8d3b7f62
"""

from alembic import op
import sqlalchemy as sa

revision = '3d8f1b6a9c42'
down_revision = '5c1e8d3b7f62'


def upgrade():
    with op.batch_alter_table(
        'vrt_holds', table_kwargs={'sqlite_autoincrement': True}
    ) as holds:
        holds.add_column(sa.Column('grows_id', sa.Integer))
        holds.create_index('ix_vrt_holds_grows_id', ['grows_id'])
        holds.create_foreign_key(
            'fk_vrt_holds_grows_id', 'vrt_members', ['grows_id'], ['id']
        )
    op.add_column('vrt_members', sa.Column('server_flavor', sa.JSON))
