# SPDX-License-Identifier: Apache-2.0
"""Revisions that do nothing but find other places for some members

Revision ID: 3a7f9c2e5d81
Revises: 3d8f6b1a9c47
"""

from alembic import op
import sqlalchemy as sa

revision = '3a7f9c2e5d81'
down_revision = '3d8f6b1a9c47'


def upgrade():
    op.add_column('vrt_groups', sa.Column('elsewhere', sa.JSON))
