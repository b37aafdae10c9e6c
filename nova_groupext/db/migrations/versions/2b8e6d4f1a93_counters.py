# SPDX-License-Identifier: Apache-2.0
"""A lock that changes its row, so that every node of a Galera cluster sees it

Revision ID: 2b8e6d4f1a93
Revises: 1e7c4a9d2b63
"""

from alembic import op
import sqlalchemy as sa

revision = '2b8e6d4f1a93'
down_revision = '1e7c4a9d2b63'


def upgrade():
    for table in ('vrt_projects', 'vrt_groups'):
        counter = sa.Column(
            'counter', sa.Integer, nullable=False, server_default='0'
        )
        op.add_column(table, counter)
