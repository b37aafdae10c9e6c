# SPDX-License-Identifier: Apache-2.0
"""Tables of what tenants describe and of the answers of planners."""

import sqlalchemy as sa
from sqlalchemy import orm

from nova_groupext.db import clock
from nova_groupext.db.models import base


class Group(base.Base):
    __tablename__ = 'vrt_groups'
    __table_args__ = (
        sa.UniqueConstraint('uuid'),
        sa.UniqueConstraint('project_id', 'client_token'),
        sa.Index('ix_vrt_groups_project_id_name', 'project_id', 'name'),
        base.OPTIONS,
    )

    uuid = sa.Column(sa.String(36), nullable=False)
    project_id = sa.Column(sa.String(255), nullable=False)
    user_id = sa.Column(sa.String(255), nullable=False)
    name = sa.Column(sa.String(255), nullable=False)
    description = sa.Column(sa.Text)
    status = sa.Column(sa.String(16), nullable=False, index=True)
    fault = sa.Column(sa.Text)
    fault_at = sa.Column(sa.DateTime)
    # Number of changes of the row; tells planners that something has changed
    generation = sa.Column(sa.Integer, nullable=False, default=1)
    # Number of definitions that it has had: the API's generation
    definition_generation = sa.Column(sa.Integer, nullable=False, default=1)
    counter = base.counter()
    # True if the planner holds the plan as soon as there is one.
    hold_when_planned = sa.Column(sa.Boolean, nullable=False)
    client_token = sa.Column(base.case_sensitive(255))
    # Digest of the request that came with the token, because the group itself
    # may change. Null without a token.
    request_digest = sa.Column(sa.String(64))
    # Lifetime of the holds in seconds, and its end once there are any.
    expires_in = sa.Column(sa.Integer, nullable=False)
    expires_at = sa.Column(sa.DateTime)
    # True when no server can redeem holds of the group any more.
    has_expired = orm.column_property(
        sa.func.coalesce(expires_at <= clock.now(), sa.false())
    )
    # Set for a draft: the group whose next definition it is. Tenants do not
    # see drafts.
    revises_id = sa.Column(
        sa.Integer, sa.ForeignKey('vrt_groups.id'), index=True
    )
    # Paths of held members that the revision may move; null for all.
    movable_paths = sa.Column(sa.JSON(none_as_null=True))
    # True if servers whose members the revision drops are kept.
    keep_server = sa.Column(sa.Boolean, nullable=False, default=False)
    # True if checks of redeems and moves include the revision's definition:
    # its swap is prepared, or servers are being adopted.
    is_binding = sa.Column(sa.Boolean, nullable=False, default=False)
    # {path: [node, ...]}: the revision only places these members again, on
    # other compute nodes than these; null for other revisions.
    excluded_nodes = sa.Column(sa.JSON(none_as_null=True))
    # True if these members are placed for servers that wait, see VRTCreate.
    is_for_creates = sa.Column(sa.Boolean, nullable=False, default=False)
    # [{at, policy}]: strict policies that the servers' hosts violate
    drift = sa.Column(sa.JSON)

    subgroups = orm.relationship(
        'Subgroup', order_by='Subgroup.id', cascade='all, delete-orphan'
    )
    member_sets = orm.relationship(
        'MemberSet', order_by='MemberSet.id', cascade='all, delete-orphan'
    )
    members = orm.relationship(
        'Member',
        order_by='Member.id',
        cascade='all, delete-orphan',
        back_populates='group',
    )
    policies = orm.relationship(
        'Policy', order_by='Policy.id', cascade='all, delete-orphan'
    )
    relationships = orm.relationship(
        'Relationship',
        order_by='Relationship.id',
        cascade='all, delete-orphan',
    )
    plans = orm.relationship(
        'Plan', order_by='Plan.id', cascade='all, delete-orphan'
    )
    leases = orm.relationship('Lease', cascade='all, delete-orphan')
    boots = orm.relationship('Boot', cascade='all, delete-orphan')
    creates = orm.relationship('Create', cascade='all, delete-orphan')
    proposals = orm.relationship('Proposal', cascade='all, delete-orphan')
    events = orm.relationship('Event', cascade='all, delete-orphan')


class Subgroup(base.Base):
    __tablename__ = 'vrt_subgroups'
    __table_args__ = (
        sa.Index('ix_vrt_subgroups_uuid', 'uuid'),
        base.OPTIONS,
    )

    group_id = base.group_key()
    path = sa.Column(base.PATH, nullable=False)
    # The same after every revision, and in a draft
    uuid = sa.Column(sa.String(36), nullable=False)


class MemberSet(base.Base):
    """An entry of ``members``: a single member, or several that are alike."""

    __tablename__ = 'vrt_member_sets'

    group_id = base.group_key()
    path = sa.Column(base.PATH, nullable=False)
    # The tenant's input: flavor, image, availability_zone, count...
    description = sa.Column(sa.JSON, nullable=False)
    # The flavor and image that Nova resolved for that input.
    resolved_request = sa.Column(sa.JSON, nullable=False)
    # True if the definition has it no more, while servers of it are leaving.
    is_left_out = sa.Column(sa.Boolean, nullable=False, default=False)


class Member(base.Base):
    """A server of the group, tentative until it is redeemed."""

    __tablename__ = 'vrt_members'
    __table_args__ = (
        sa.UniqueConstraint('group_id', 'path'),
        sa.Index('ix_vrt_members_server_uuid', 'server_uuid'),
        base.OPTIONS,
    )

    group_id = base.group_key()
    group = orm.relationship('Group', back_populates='members')
    path = sa.Column(base.PATH, nullable=False)
    # The path without the index, or a successor's end: of the member set.
    member_set = sa.Column(base.PATH, nullable=False)
    described = orm.relationship(
        MemberSet,
        primaryjoin=sa.and_(
            orm.foreign(group_id) == orm.remote(MemberSet.group_id),
            orm.foreign(member_set) == orm.remote(MemberSet.path),
        ),
        viewonly=True,
    )
    status = sa.Column(sa.String(16), nullable=False, index=True)
    fault = sa.Column(sa.Text)
    fault_at = sa.Column(sa.DateTime)
    server_uuid = sa.Column(sa.String(36))
    # The server for which a planner has placed it: no other may redeem it.
    reserved_for = sa.Column(sa.String(36))
    # Set for a successor server, which becomes a member when one at or below
    # this path goes.
    succeeds = sa.Column(base.PATH)
    # Number of automatic replacements that planners have tried.
    replacement_attempts = sa.Column(sa.Integer, nullable=False, default=0)
    # Start of the time that it is held without a server, and that capacity is
    # held for the resize of its server.
    held_since = sa.Column(sa.DateTime)
    reservation_since = sa.Column(sa.DateTime)
    # The resolved request that its server was created with, or has been
    # resized to; null if it is that of the member set.
    server_request = sa.Column(sa.JSON(none_as_null=True))


class Policy(base.Base):
    __tablename__ = 'vrt_policies'

    group_id = base.group_key()
    # Path of the topology node with the policy; '' is the group.
    at = sa.Column(base.PATH, nullable=False)
    relationship_id = sa.Column(
        sa.Integer,
        sa.ForeignKey('vrt_relationships.id', ondelete='CASCADE'),
        index=True,
    )
    type = sa.Column(sa.String(32), nullable=False)
    # The tenant's input: type, scope, strict, weight...
    definition = sa.Column(sa.JSON, nullable=False)


class Relationship(base.Base):
    __tablename__ = 'vrt_relationships'

    group_id = base.group_key()
    at = sa.Column(base.PATH, nullable=False)
    # The tenant's input without policies: name, between, bandwidth.
    definition = sa.Column(sa.JSON, nullable=False)

    policies = orm.relationship('Policy', order_by='Policy.id')


class Plan(base.Base):
    """One answer of the planner; the newest of a group is the valid one."""

    __tablename__ = 'vrt_plans'
    __table_args__ = (sa.UniqueConstraint('uuid'), base.OPTIONS)

    uuid = sa.Column(sa.String(36), nullable=False)
    group_id = base.group_key()
    # placed, refused or undecided
    status = sa.Column(sa.String(16), nullable=False)
    # {path: {host, node, provider, allocations, mappings, domains}}
    placements = sa.Column(sa.JSON, nullable=False)
    # The rest of the solver's answer, unchanged
    answer = sa.Column(sa.JSON, nullable=False)
    # True once the group has another definition, or is to be planned anew
    is_outdated = sa.Column(sa.Boolean, nullable=False)


class Proposal(base.Base):
    """Server moves that would satisfy a group's violated policies again."""

    __tablename__ = 'vrt_proposals'
    __table_args__ = (sa.UniqueConstraint('group_id'), base.OPTIONS)

    group_id = base.group_key(is_indexed=False)
    # planning, then placed, refused or undecided
    status = sa.Column(sa.String(16), nullable=False)
    # True if fewer moves are proved to be impossible.
    fewest = sa.Column(sa.Boolean, nullable=False, default=False)
    # {path: {host, domains}}
    moves = sa.Column(sa.JSON, nullable=False)
    # End of the time during which a planner may be working on it.
    claimed_until = sa.Column(sa.DateTime)
