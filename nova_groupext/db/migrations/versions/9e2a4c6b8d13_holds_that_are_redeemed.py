# SPDX-License-Identifier: Apache-2.0
"""Holds name the servers that redeem them

Revision ID: 9e2a4c6b8d13
Revises: 7c1d5e9a3b28
"""

from alembic import op
import sqlalchemy as sa

revision = '9e2a4c6b8d13'
down_revision = '7c1d5e9a3b28'


def upgrade():
    op.add_column('vrt_holds', sa.Column('server_uuid', sa.String(36)))
    # A fenced hold goes on as one that is redeemed; both only go forward.
    holds = sa.table('vrt_holds', sa.column('status', sa.String))
    op.execute(
        holds.update()
        .where(holds.c.status == 'MOVING')
        .values(status='REDEEMING')
    )
    members = sa.table(
        'vrt_members',
        sa.column('id', sa.Integer),
        sa.column('status', sa.String),
        sa.column('server_uuid', sa.String),
    )
    held = sa.table(
        'vrt_holds',
        sa.column('member_id', sa.Integer),
        sa.column('status', sa.String),
        sa.column('server_uuid', sa.String),
    )
    redeeming = members.c.status == 'REDEEMING'
    own = members.c.id == held.c.member_id
    op.execute(
        held.update()
        .where(
            held.c.status.in_(('HELD', 'REDEEMING')),
            sa.exists().where(own, redeeming),
        )
        .values(
            status='REDEEMING',
            server_uuid=sa.select(members.c.server_uuid)
            .where(own)
            .scalar_subquery(),
        )
    )
