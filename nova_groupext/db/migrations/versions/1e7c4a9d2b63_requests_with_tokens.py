# SPDX-License-Identifier: Apache-2.0
"""What a group was first described with, so that a retry is known again

Revision ID: 1e7c4a9d2b63
Revises: 3d8f1b6a9c42
"""

from alembic import op
import sqlalchemy as sa

revision = '1e7c4a9d2b63'
down_revision = '3d8f1b6a9c42'


def upgrade():
    op.add_column('vrt_groups', sa.Column('request_digest', sa.String(64)))
