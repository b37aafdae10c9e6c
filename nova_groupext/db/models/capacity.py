# SPDX-License-Identifier: Apache-2.0
"""Tables of the capacity that is held for members and servers."""

import sqlalchemy as sa

from nova_groupext.db.models import base


class Hold(base.Base):
    """A Placement allocation of a member without a server, or a placeholder.

    A placeholder has no member: it keeps other consumers off a host that is
    exclusive to its group. A resize reservation has no member either: it is
    held in addition to the server's allocation until the resize.

    The row is written before the request to Placement; ``uuid`` is the
    consumer and is never reused. A released row stays for a while, even after
    its group is deleted. No cascade deletes it: an allocation without a row
    could never be released.
    """

    __tablename__ = 'vrt_holds'
    __table_args__ = (
        sa.UniqueConstraint('uuid'),
        sa.Index('ix_vrt_holds_status', 'status'),
        base.OPTIONS,
    )

    uuid = sa.Column(sa.String(36), nullable=False)
    # Null for an ended hold whose group has been deleted.
    group_id = sa.Column(
        sa.Integer, sa.ForeignKey('vrt_groups.id'), index=True
    )
    member_id = sa.Column(
        sa.Integer, sa.ForeignKey('vrt_members.id'), index=True
    )
    # Set for a resize reservation: the member of the server.
    resize_member_id = sa.Column(
        sa.Integer, sa.ForeignKey('vrt_members.id'), index=True
    )
    status = sa.Column(sa.String(16), nullable=False)
    # The server that redeems it or has redeemed it.
    server_uuid = sa.Column(sa.String(36))
    host = sa.Column(sa.String(255), nullable=False)
    node = sa.Column(sa.String(255), nullable=False)
    provider_uuid = sa.Column(sa.String(36), nullable=False)
    # {provider: {"resources": {class: amount}}}, Placement's format
    allocations = sa.Column(sa.JSON, nullable=False)
    mappings = sa.Column(sa.JSON, nullable=False)
    # Set for a successor: the columns that it has if its swap is compensated,
    # with the uuid of the hold that had these values; {} if it then owns
    # nothing. Null for holds that no swap fills. For a REDEEMED hold: {} while
    # its server is being adopted.
    if_compensated = sa.Column(sa.JSON(none_as_null=True))
    # True if it ends with the swap in progress, which does not need its
    # capacity.
    ends_with_swap = sa.Column(sa.Boolean, nullable=False, default=False)
    # Start of the time in which a late request may still fill it in Placement,
    # and the number of checks since.
    watched_at = sa.Column(sa.DateTime, index=True)
    checks = sa.Column(sa.Integer, nullable=False, default=0)
    # Begin of a check that may fill the consumer, until it is counted.
    check_began_at = sa.Column(sa.DateTime)
    # True if Placement may keep the amounts without a consumer record: the
    # consumer is missing, or two requests may have filled it.
    lost = sa.Column(sa.Boolean, nullable=False, default=False)


class Move(base.Base):
    """A move of a server, written before its new host is claimed.

    The row of the redeemed hold names the source host. Until Nova confirms,
    reverts or abandons the move, the server counts at both hosts.
    """

    __tablename__ = 'vrt_moves'

    group_id = base.group_key()
    member_id = sa.Column(
        sa.Integer,
        sa.ForeignKey('vrt_members.id', ondelete='CASCADE'),
        nullable=False,
        index=True,
    )
    server_uuid = sa.Column(sa.String(36), nullable=False)
    # Destination
    host = sa.Column(sa.String(255), nullable=False)
    node = sa.Column(sa.String(255), nullable=False)
