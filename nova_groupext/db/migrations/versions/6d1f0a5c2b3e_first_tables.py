# SPDX-License-Identifier: Apache-2.0
"""The first tables

Revision ID: 6d1f0a5c2b3e
Revises:
"""

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

revision = '6d1f0a5c2b3e'
down_revision = None


def _case_sensitive(length):
    return sa.String(length).with_variant(
        mysql.VARCHAR(length, charset='utf8mb4', collation='utf8mb4_bin'),
        'mysql',
        'mariadb',
    )


def _counter():
    return sa.Column('counter', sa.Integer, nullable=False, server_default='0')


PATH = _case_sensitive(512)


def _create(name, *parts):
    op.create_table(
        name,
        sa.Column('id', sa.Integer, nullable=False),
        *parts,
        sa.Column('created_at', sa.DateTime),
        sa.Column('updated_at', sa.DateTime),
        sa.PrimaryKeyConstraint('id', name=f'pk_{name}'),
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        sqlite_autoincrement=True,
    )


def _foreign_key(table, column, target, ondelete=None):
    return sa.ForeignKeyConstraint(
        [column],
        [f'{target}.id'],
        name=f'fk_{table}_{column}',
        ondelete=ondelete,
    )


def _unique(table, *columns):
    name = f'uniq_{table}_' + '_'.join(columns)
    return sa.UniqueConstraint(*columns, name=name)


def _index(table, *columns):
    op.create_index(f'ix_{table}_' + '_'.join(columns), table, list(columns))


def upgrade():
    _create(
        'vrt_groups',
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('user_id', sa.String(255), nullable=False),
        sa.Column('name', sa.String(255), nullable=False),
        sa.Column('description', sa.Text),
        sa.Column('status', sa.String(16), nullable=False),
        sa.Column('fault', sa.Text),
        sa.Column('fault_at', sa.DateTime),
        sa.Column('generation', sa.Integer, nullable=False),
        sa.Column('definition_generation', sa.Integer, nullable=False),
        _counter(),
        sa.Column('hold_when_planned', sa.Boolean, nullable=False),
        sa.Column('client_token', _case_sensitive(255)),
        sa.Column('request_digest', sa.String(64)),
        sa.Column('expires_in', sa.Integer, nullable=False),
        sa.Column('expires_at', sa.DateTime),
        sa.Column('revises_id', sa.Integer),
        sa.Column('movable_paths', sa.JSON),
        sa.Column('keep_server', sa.Boolean, nullable=False),
        sa.Column('is_binding', sa.Boolean, nullable=False),
        sa.Column('excluded_nodes', sa.JSON),
        sa.Column('is_for_creates', sa.Boolean, nullable=False),
        sa.Column('drift', sa.JSON),
        _foreign_key('vrt_groups', 'revises_id', 'vrt_groups'),
        _unique('vrt_groups', 'uuid'),
        _unique('vrt_groups', 'project_id', 'client_token'),
    )
    _index('vrt_groups', 'project_id', 'name')
    _index('vrt_groups', 'revises_id')
    _index('vrt_groups', 'status')

    _create(
        'vrt_subgroups',
        sa.Column('group_id', sa.Integer, nullable=False),
        sa.Column('path', PATH, nullable=False),
        sa.Column('uuid', sa.String(36), nullable=False),
        _foreign_key('vrt_subgroups', 'group_id', 'vrt_groups', 'CASCADE'),
    )
    _index('vrt_subgroups', 'group_id')
    _index('vrt_subgroups', 'uuid')

    _create(
        'vrt_member_sets',
        sa.Column('group_id', sa.Integer, nullable=False),
        sa.Column('path', PATH, nullable=False),
        sa.Column('description', sa.JSON, nullable=False),
        sa.Column('resolved_request', sa.JSON, nullable=False),
        sa.Column('is_left_out', sa.Boolean, nullable=False),
        _foreign_key('vrt_member_sets', 'group_id', 'vrt_groups', 'CASCADE'),
    )
    _index('vrt_member_sets', 'group_id')

    _create(
        'vrt_members',
        sa.Column('group_id', sa.Integer, nullable=False),
        sa.Column('path', PATH, nullable=False),
        sa.Column('member_set', PATH, nullable=False),
        sa.Column('status', sa.String(16), nullable=False),
        sa.Column('fault', sa.Text),
        sa.Column('fault_at', sa.DateTime),
        sa.Column('server_uuid', sa.String(36)),
        sa.Column('reserved_for', sa.String(36)),
        sa.Column('succeeds', PATH),
        sa.Column('replacement_attempts', sa.Integer, nullable=False),
        sa.Column('held_since', sa.DateTime),
        sa.Column('reservation_since', sa.DateTime),
        sa.Column('server_request', sa.JSON),
        _foreign_key('vrt_members', 'group_id', 'vrt_groups', 'CASCADE'),
        _unique('vrt_members', 'group_id', 'path'),
    )
    _index('vrt_members', 'group_id')
    _index('vrt_members', 'server_uuid')
    _index('vrt_members', 'status')

    _create(
        'vrt_relationships',
        sa.Column('group_id', sa.Integer, nullable=False),
        sa.Column('at', PATH, nullable=False),
        sa.Column('definition', sa.JSON, nullable=False),
        _foreign_key('vrt_relationships', 'group_id', 'vrt_groups', 'CASCADE'),
    )
    _index('vrt_relationships', 'group_id')

    _create(
        'vrt_policies',
        sa.Column('group_id', sa.Integer, nullable=False),
        sa.Column('at', PATH, nullable=False),
        sa.Column('relationship_id', sa.Integer),
        sa.Column('type', sa.String(32), nullable=False),
        sa.Column('definition', sa.JSON, nullable=False),
        _foreign_key('vrt_policies', 'group_id', 'vrt_groups', 'CASCADE'),
        _foreign_key(
            'vrt_policies', 'relationship_id', 'vrt_relationships', 'CASCADE'
        ),
    )
    _index('vrt_policies', 'group_id')
    _index('vrt_policies', 'relationship_id')

    _create(
        'vrt_plans',
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('group_id', sa.Integer, nullable=False),
        sa.Column('status', sa.String(16), nullable=False),
        sa.Column('placements', sa.JSON, nullable=False),
        sa.Column('answer', sa.JSON, nullable=False),
        sa.Column('is_outdated', sa.Boolean, nullable=False),
        _foreign_key('vrt_plans', 'group_id', 'vrt_groups', 'CASCADE'),
        _unique('vrt_plans', 'uuid'),
    )
    _index('vrt_plans', 'group_id')

    _create(
        'vrt_holds',
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('group_id', sa.Integer),
        sa.Column('member_id', sa.Integer),
        sa.Column('resize_member_id', sa.Integer),
        sa.Column('status', sa.String(16), nullable=False),
        sa.Column('server_uuid', sa.String(36)),
        sa.Column('host', sa.String(255), nullable=False),
        sa.Column('node', sa.String(255), nullable=False),
        sa.Column('provider_uuid', sa.String(36), nullable=False),
        sa.Column('allocations', sa.JSON, nullable=False),
        sa.Column('mappings', sa.JSON, nullable=False),
        sa.Column('if_compensated', sa.JSON),
        sa.Column('ends_with_swap', sa.Boolean, nullable=False),
        sa.Column('watched_at', sa.DateTime),
        sa.Column('checks', sa.Integer, nullable=False),
        sa.Column('check_began_at', sa.DateTime),
        sa.Column('lost', sa.Boolean, nullable=False),
        _foreign_key('vrt_holds', 'group_id', 'vrt_groups'),
        _foreign_key('vrt_holds', 'member_id', 'vrt_members'),
        _foreign_key('vrt_holds', 'resize_member_id', 'vrt_members'),
        _unique('vrt_holds', 'uuid'),
    )
    for column in (
        *('group_id', 'member_id', 'resize_member_id'),
        *('status', 'watched_at'),
    ):
        _index('vrt_holds', column)

    _create(
        'vrt_moves',
        sa.Column('group_id', sa.Integer, nullable=False),
        sa.Column('member_id', sa.Integer, nullable=False),
        sa.Column('server_uuid', sa.String(36), nullable=False),
        sa.Column('host', sa.String(255), nullable=False),
        sa.Column('node', sa.String(255), nullable=False),
        _foreign_key('vrt_moves', 'group_id', 'vrt_groups', 'CASCADE'),
        _foreign_key('vrt_moves', 'member_id', 'vrt_members', 'CASCADE'),
    )
    _index('vrt_moves', 'group_id')
    _index('vrt_moves', 'member_id')

    _create(
        'vrt_leases',
        sa.Column('group_id', sa.Integer, nullable=False),
        sa.Column('operation', sa.String(36), nullable=False),
        sa.Column('owner', sa.String(255), nullable=False),
        sa.Column('ends_at', sa.DateTime, nullable=False),
        sa.Column('waiters', sa.Integer, nullable=False),
        _foreign_key('vrt_leases', 'group_id', 'vrt_groups', 'CASCADE'),
        _unique('vrt_leases', 'group_id'),
        _unique('vrt_leases', 'operation'),
    )
    _index('vrt_leases', 'owner')

    _create(
        'vrt_boots',
        sa.Column('group_id', sa.Integer, nullable=False),
        sa.Column('request_id', sa.String(255), nullable=False),
        sa.Column('status', sa.String(16), nullable=False),
        sa.Column('missing', sa.Integer, nullable=False),
        sa.Column('created', sa.Integer, nullable=False),
        sa.Column('faults', sa.JSON, nullable=False),
        sa.Column('fault', sa.Text),
        sa.Column('heartbeat_at', sa.DateTime, nullable=False),
        _foreign_key('vrt_boots', 'group_id', 'vrt_groups', 'CASCADE'),
        _unique('vrt_boots', 'group_id'),
    )

    _create(
        'vrt_proposals',
        sa.Column('group_id', sa.Integer, nullable=False),
        sa.Column('status', sa.String(16), nullable=False),
        sa.Column('fewest', sa.Boolean, nullable=False),
        sa.Column('moves', sa.JSON, nullable=False),
        sa.Column('claimed_until', sa.DateTime),
        _foreign_key('vrt_proposals', 'group_id', 'vrt_groups', 'CASCADE'),
        _unique('vrt_proposals', 'group_id'),
    )

    _create(
        'vrt_creates',
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('group_id', sa.Integer, nullable=False),
        sa.Column('hint', PATH, nullable=False),
        sa.Column('kinds', sa.JSON, nullable=False),
        sa.Column('server_uuids', sa.JSON, nullable=False),
        sa.Column('status', sa.String(16), nullable=False),
        sa.Column('fault', sa.Text),
        sa.Column('ends_at', sa.DateTime, nullable=False),
        sa.Column('generation', sa.Integer),
        sa.Column('has_successors', sa.Boolean, nullable=False),
        sa.Column('members', sa.JSON),
        sa.Column('draft_id', sa.Integer),
        _foreign_key('vrt_creates', 'group_id', 'vrt_groups', 'CASCADE'),
        _unique('vrt_creates', 'uuid'),
    )
    _index('vrt_creates', 'group_id')

    _create(
        'vrt_events',
        sa.Column('group_id', sa.Integer, nullable=False),
        sa.Column('name', sa.String(32), nullable=False),
        sa.Column('request_id', sa.String(255)),
        sa.Column('user_id', sa.String(255)),
        sa.Column('project_id', sa.String(255)),
        sa.Column('message', sa.Text),
        _foreign_key('vrt_events', 'group_id', 'vrt_groups', 'CASCADE'),
    )
    _index('vrt_events', 'group_id')

    _create(
        'vrt_planners',
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('host', sa.String(255), nullable=False),
        sa.Column('process', sa.String(255), nullable=False),
        sa.Column('revision', sa.String(32), nullable=False),
        sa.Column('clock_offset', sa.Float, nullable=False),
        sa.Column('heartbeat_at', sa.DateTime, nullable=False),
        sa.Column('round_ended_at', sa.DateTime),
        _unique('vrt_planners', 'uuid'),
    )

    _create(
        'vrt_project_locks',
        sa.Column('project_id', sa.String(255), nullable=False),
        _counter(),
        _unique('vrt_project_locks', 'project_id'),
    )

    _create(
        'vrt_keys',
        sa.Column('name', sa.String(32), nullable=False),
        sa.Column('value', sa.String(255), nullable=False),
        _unique('vrt_keys', 'name'),
    )
