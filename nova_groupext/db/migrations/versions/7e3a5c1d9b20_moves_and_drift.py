# SPDX-License-Identifier: Apache-2.0
"""Servers that move, and what of a group's policies is broken by moves

Revision ID: 7e3a5c1d9b20
Revises: 9b3e5d7a1c60
"""

from alembic import op
import sqlalchemy as sa

revision = '7e3a5c1d9b20'
down_revision = '9b3e5d7a1c60'


def upgrade():
    op.create_table(
        'vrt_moves',
        sa.Column('created_at', sa.DateTime),
        sa.Column('updated_at', sa.DateTime),
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('group_id', sa.Integer, nullable=False),
        sa.Column('member_id', sa.Integer, nullable=False),
        sa.Column('server_uuid', sa.String(36), nullable=False),
        sa.Column('host', sa.String(255), nullable=False),
        sa.Column('node', sa.String(255), nullable=False),
        sa.ForeignKeyConstraint(
            ['group_id'],
            ['vrt_groups.id'],
            name='fk_vrt_moves_group_id',
            ondelete='CASCADE',
        ),
        sa.ForeignKeyConstraint(
            ['member_id'],
            ['vrt_members.id'],
            name='fk_vrt_moves_member_id',
            ondelete='CASCADE',
        ),
        sa.PrimaryKeyConstraint('id', name='pk_vrt_moves'),
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        sqlite_autoincrement=True,
    )
    for column in ('group_id', 'member_id'):
        op.create_index(f'ix_vrt_moves_{column}', 'vrt_moves', [column])
    op.add_column('vrt_groups', sa.Column('drift', sa.JSON))
