# SPDX-License-Identifier: Apache-2.0
"""Projects: a lock for each; client tokens tell upper and lower case apart

Revision ID: 4f6b8d0e2a97
Revises: 8a4c2e7f9b10
"""

from alembic import op
import sqlalchemy as sa
from sqlalchemy.dialects import mysql

revision = '4f6b8d0e2a97'
down_revision = '8a4c2e7f9b10'


def upgrade():
    op.create_table(
        'vrt_projects',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('project_id', sa.String(255), nullable=False),
        sa.Column('created_at', sa.DateTime),
        sa.Column('updated_at', sa.DateTime),
        sa.PrimaryKeyConstraint('id', name='pk_vrt_projects'),
        sa.UniqueConstraint('project_id', name='uniq_vrt_projects_project_id'),
        mysql_engine='InnoDB',
        mysql_charset='utf8mb4',
        sqlite_autoincrement=True,
    )
    # The other databases compare texts as they are.
    if op.get_bind().dialect.name in ('mysql', 'mariadb'):
        op.alter_column(
            'vrt_groups',
            'client_token',
            type_=mysql.VARCHAR(
                255, charset='utf8mb4', collation='utf8mb4_bin'
            ),
            existing_type=sa.String(255),
            existing_nullable=True,
        )
