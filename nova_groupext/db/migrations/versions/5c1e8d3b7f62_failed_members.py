# SPDX-License-Identifier: Apache-2.0
"""How often planners have placed a member anew by themselves

Revision ID: 5c1e8d3b7f62
Revises: 3a7f9c2e5d81
"""

from alembic import op
import sqlalchemy as sa

revision = '5c1e8d3b7f62'
down_revision = '3a7f9c2e5d81'


def upgrade():
    op.add_column(
        'vrt_members',
        sa.Column('replans', sa.Integer, nullable=False, server_default='0'),
    )
