# SPDX-License-Identifier: Apache-2.0
"""One lease for a group and its drafts, and the planners that have leases

Revision ID: 7c1d5e9a3b28
Revises: 5a9c3e7b1d64
"""

from alembic import op
import sqlalchemy as sa

revision = '7c1d5e9a3b28'
down_revision = '5a9c3e7b1d64'

OPTIONS = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'sqlite_autoincrement': True,
}


def upgrade():
    # Nobody works on groups while the tables change.
    op.drop_table('vrt_intents')
    _create_of_group(
        'vrt_leases',
        sa.Column('operation', sa.String(36), nullable=False),
        sa.Column('owner', sa.String(255), nullable=False),
        sa.Column('ends_at', sa.DateTime, nullable=False),
        sa.Column('asked', sa.Integer, nullable=False),
        sa.UniqueConstraint('operation', name='uniq_vrt_leases_operation'),
    )
    op.create_index('ix_vrt_leases_owner', 'vrt_leases', ['owner'])
    _create_of_group(
        'vrt_boots',
        sa.Column('request', sa.String(255), nullable=False),
        sa.Column('ends_at', sa.DateTime, nullable=False),
    )
    _create(
        'vrt_planners',
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('host', sa.String(255), nullable=False),
        sa.Column('process', sa.String(255), nullable=False),
        sa.Column('revision', sa.String(32), nullable=False),
        sa.Column('clock_offset', sa.Float, nullable=False),
        sa.Column('heard_at', sa.DateTime, nullable=False),
        sa.UniqueConstraint('uuid', name='uniq_vrt_planners_uuid'),
    )


def _create_of_group(name, *columns):
    """Create a table that has one row for a group at most."""
    _create(
        name,
        sa.Column('group_id', sa.Integer, nullable=False),
        *columns,
        sa.ForeignKeyConstraint(
            ['group_id'],
            ['vrt_groups.id'],
            name=f'fk_{name}_group_id',
            ondelete='CASCADE',
        ),
        sa.UniqueConstraint('group_id', name=f'uniq_{name}_group_id'),
    )


def _create(name, *columns):
    op.create_table(
        name,
        sa.Column('created_at', sa.DateTime),
        sa.Column('updated_at', sa.DateTime),
        sa.Column('id', sa.Integer, nullable=False),
        *columns,
        sa.PrimaryKeyConstraint('id', name=f'pk_{name}'),
        **OPTIONS,
    )
