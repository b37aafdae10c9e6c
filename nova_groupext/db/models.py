# SPDX-License-Identifier: Apache-2.0
"""The tables, all named ``vrt_*``.

A group's definition is stored once, in rows: subgroups, members, policies and
relationships. What a tenant sees and what the planner solves are composed
from these rows (see objects/topology.py).

Concurrent writers are guarded three ways: ``vrt_groups.generation`` counts up
with every change; ``vrt_leases.group_id`` is unique, so that one planner at a
time works on a group; the ``counter`` of a row of ``vrt_projects`` is counted
up by whoever counts and holds for the project, and that of ``vrt_groups`` by
whoever judges a group as a whole.
"""

from oslo_db.sqlalchemy import models
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import mysql

from nova_groupext.db import clock

NAMING = {
    'ix': 'ix_%(table_name)s_%(column_0_N_name)s',
    'uq': 'uniq_%(table_name)s_%(column_0_N_name)s',
    'fk': 'fk_%(table_name)s_%(column_0_name)s',
    'pk': 'pk_%(table_name)s',
}
# An id is never used again: what is remembered of a row that is gone must not
# be taken for another one.
OPTIONS = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'sqlite_autoincrement': True,
}


def _exact(length):
    """A text that tells upper and lower case apart, on MySQL as well."""
    return sa.String(length).with_variant(
        mysql.VARCHAR(length, charset='utf8mb4', collation='utf8mb4_bin'),
        'mysql',
        'mariadb',
    )


PATH = _exact(512)


class Base(models.ModelBase, orm.DeclarativeBase):
    metadata = sa.MetaData(naming_convention=NAMING)
    # SQLAlchemy reads back what the database gives a new row.
    __mapper_args__ = {'eager_defaults': True}

    created_at = sa.Column(sa.DateTime, default=clock.now())
    updated_at = sa.Column(sa.DateTime, onupdate=clock.now())


def _group_key():
    return sa.Column(
        sa.Integer,
        sa.ForeignKey('vrt_groups.id', ondelete='CASCADE'),
        nullable=False,
        index=True,
    )


def _counter():
    """Counts the transactions that had the row to themselves; see locked()."""
    return sa.Column(sa.Integer, nullable=False, default=0, server_default='0')


class Project(Base):
    """Nothing but a lock: see quota.serialised()."""

    __tablename__ = 'vrt_projects'
    __table_args__ = (sa.UniqueConstraint('project_id'), OPTIONS)

    id = sa.Column(sa.Integer, primary_key=True)
    project_id = sa.Column(sa.String(255), nullable=False)
    counter = _counter()


class Group(Base):
    __tablename__ = 'vrt_groups'
    __table_args__ = (
        sa.UniqueConstraint('uuid'),
        sa.UniqueConstraint('project_id', 'client_token'),
        sa.Index('ix_vrt_groups_project_id_name', 'project_id', 'name'),
        OPTIONS,
    )

    id = sa.Column(sa.Integer, primary_key=True)
    uuid = sa.Column(sa.String(36), nullable=False)
    project_id = sa.Column(sa.String(255), nullable=False)
    user_id = sa.Column(sa.String(255), nullable=False)
    name = sa.Column(sa.String(255), nullable=False)
    description = sa.Column(sa.Text)
    status = sa.Column(sa.String(16), nullable=False)
    fault = sa.Column(sa.Text)
    generation = sa.Column(sa.Integer, nullable=False, default=1)
    counter = _counter()
    # Whether the plan is to be held as soon as it is made.
    hold = sa.Column(sa.Boolean, nullable=False)
    client_token = sa.Column(_exact(255))
    # Of the request that came with the token; what the group is like may
    # change. Null without a token, and in groups from before there was this.
    request_digest = sa.Column(sa.String(64))
    # Seconds that a hold lives, and when it ends once there is one.
    expires_in = sa.Column(sa.Integer, nullable=False)
    expires_at = sa.Column(sa.DateTime)
    # True when no server can redeem anything of the group any more.
    has_expired = orm.column_property(
        sa.func.coalesce(expires_at <= clock.now(), sa.false())
    )
    # The group whose next definition this one is. Tenants do not see it.
    revises_id = sa.Column(
        sa.Integer, sa.ForeignKey('vrt_groups.id'), index=True
    )
    # Paths of the held members that the revision may move; null for all.
    movable = sa.Column(sa.JSON(none_as_null=True))
    # Whether servers that the revision has no member for go on without it.
    keep_server = sa.Column(sa.Boolean, nullable=False, default=False)
    # Whether the revision counts as soon as its swap is made.
    is_prepared = sa.Column(sa.Boolean, nullable=False, default=False)
    # {path: nodes}: the revision does nothing but to place these members
    # anew, not on these compute nodes; null for all others.
    elsewhere = sa.Column(sa.JSON(none_as_null=True))
    # [{at, policy}]: what of the description the servers' hosts break now
    drift = sa.Column(sa.JSON)

    subgroups = orm.relationship(
        'Subgroup', order_by='Subgroup.id', cascade='all, delete-orphan'
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
    proposals = orm.relationship('Proposal', cascade='all, delete-orphan')


class Subgroup(Base):
    __tablename__ = 'vrt_subgroups'
    __table_args__ = (OPTIONS,)

    id = sa.Column(sa.Integer, primary_key=True)
    group_id = _group_key()
    path = sa.Column(PATH, nullable=False)


class Member(Base):
    """A server of the group, tentative until it is redeemed."""

    __tablename__ = 'vrt_members'
    __table_args__ = (
        sa.UniqueConstraint('group_id', 'path'),
        sa.Index('ix_vrt_members_server_uuid', 'server_uuid'),
        OPTIONS,
    )

    id = sa.Column(sa.Integer, primary_key=True)
    group_id = _group_key()
    group = orm.relationship('Group', back_populates='members')
    path = sa.Column(PATH, nullable=False)
    # The path without the index of a counted member.
    stem = sa.Column(PATH, nullable=False)
    status = sa.Column(sa.String(16), nullable=False)
    fault = sa.Column(sa.Text)
    server_uuid = sa.Column(sa.String(36))
    # How often planners have tried to place it anew since it has failed once.
    replans = sa.Column(sa.Integer, nullable=False, default=0)
    # Since when it is held without having become a server, and since when
    # something is held for the resize of its server.
    held_since = sa.Column(sa.DateTime)
    growth_since = sa.Column(sa.DateTime)
    # As the tenant gave it: flavor, image, availability_zone, count...
    description = sa.Column(sa.JSON, nullable=False)
    # As Nova understood it on the day: flavor and image, resolved.
    request = sa.Column(sa.JSON, nullable=False)
    # {id, name, vcpus, memory_mb} of the flavor that its server has until it
    # is resized to the one described; null where there is no difference.
    server_flavor = sa.Column(sa.JSON(none_as_null=True))


class Policy(Base):
    __tablename__ = 'vrt_policies'
    __table_args__ = (OPTIONS,)

    id = sa.Column(sa.Integer, primary_key=True)
    group_id = _group_key()
    # The node that the policy sits on ('' is the group itself).
    at = sa.Column(PATH, nullable=False)
    relationship_id = sa.Column(
        sa.Integer,
        sa.ForeignKey('vrt_relationships.id', ondelete='CASCADE'),
        index=True,
    )
    type = sa.Column(sa.String(32), nullable=False)
    # As the tenant gave it: type, scope, strict, weight...
    definition = sa.Column(sa.JSON, nullable=False)


class Relationship(Base):
    __tablename__ = 'vrt_relationships'
    __table_args__ = (OPTIONS,)

    id = sa.Column(sa.Integer, primary_key=True)
    group_id = _group_key()
    at = sa.Column(PATH, nullable=False)
    # As the tenant gave it, without its policies: name, between, bandwidth.
    definition = sa.Column(sa.JSON, nullable=False)

    policies = orm.relationship('Policy', order_by='Policy.id')


class Plan(Base):
    """One answer of the planner; the newest of a group is the valid one."""

    __tablename__ = 'vrt_plans'
    __table_args__ = (sa.UniqueConstraint('uuid'), OPTIONS)

    id = sa.Column(sa.Integer, primary_key=True)
    uuid = sa.Column(sa.String(36), nullable=False)
    group_id = _group_key()
    # placed, refused or undecided
    status = sa.Column(sa.String(16), nullable=False)
    # {path: {host, node, provider, allocations, mappings, domains}}
    placement = sa.Column(sa.JSON, nullable=False)
    # Everything else of the planner's answer, as the planner gave it.
    answer = sa.Column(sa.JSON, nullable=False)


class Proposal(Base):
    """Which servers to move for a group's policies to hold again."""

    __tablename__ = 'vrt_proposals'
    __table_args__ = (sa.UniqueConstraint('group_id'), OPTIONS)

    id = sa.Column(sa.Integer, primary_key=True)
    group_id = sa.Column(
        sa.Integer,
        sa.ForeignKey('vrt_groups.id', ondelete='CASCADE'),
        nullable=False,
    )
    # planning, then placed, refused or undecided
    status = sa.Column(sa.String(16), nullable=False)
    fewest = sa.Column(sa.Boolean, nullable=False, default=False)
    # {path: {host, domains}}
    moves = sa.Column(sa.JSON, nullable=False)
    # Until when a planner may be at work on it.
    claimed_until = sa.Column(sa.DateTime)


class Hold(Base):
    """The Placement allocation of a member without a server, or a filler.

    A filler has no member: it keeps others off a host that its group has to
    itself. Nor has a growth, which is held beside what a member's server has
    until that is resized.

    The row is written before Placement is asked; ``uuid`` is the consumer and
    never used again. When Placement has given the capacity back the row stays
    for a while, also without its group. No cascade reaches it: a hold that
    nobody remembers could never be undone.
    """

    __tablename__ = 'vrt_holds'
    __table_args__ = (
        sa.UniqueConstraint('uuid'),
        sa.Index('ix_vrt_holds_status', 'status'),
        OPTIONS,
    )

    id = sa.Column(sa.Integer, primary_key=True)
    uuid = sa.Column(sa.String(36), nullable=False)
    # Null of one that has ended, as soon as the group is forgotten.
    group_id = sa.Column(
        sa.Integer, sa.ForeignKey('vrt_groups.id'), index=True
    )
    member_id = sa.Column(
        sa.Integer, sa.ForeignKey('vrt_members.id'), index=True
    )
    # The member for whose server's resize it is held.
    grows_id = sa.Column(
        sa.Integer, sa.ForeignKey('vrt_members.id'), index=True
    )
    status = sa.Column(sa.String(16), nullable=False)
    # That redeems it, or has.
    server_uuid = sa.Column(sa.String(36))
    host = sa.Column(sa.String(255), nullable=False)
    node = sa.Column(sa.String(255), nullable=False)
    provider_uuid = sa.Column(sa.String(36), nullable=False)
    # {provider: {"resources": {class: amount}}}, as Placement takes it
    allocations = sa.Column(sa.JSON, nullable=False)
    mappings = sa.Column(sa.JSON, nullable=False)
    # Of a successor: the columns that it has if its swap comes to nothing, and
    # the uuid of the hold that had these; {} if it is nothing then. Null of
    # what no swap fills.
    otherwise = sa.Column(sa.JSON(none_as_null=True))
    # Whether it ends with the swap under way, which does not need its room.
    leaves = sa.Column(sa.Boolean, nullable=False, default=False)
    # Since when a request that fills it may be on its way to Placement, and
    # how often one has looked since.
    watched_at = sa.Column(sa.DateTime, index=True)
    looks = sa.Column(sa.Integer, nullable=False, default=0)
    # Placement may keep the amounts without a record of whose they are: the
    # consumer is missing, or two requests may have filled it.
    lost = sa.Column(sa.Boolean, nullable=False, default=False)


class Move(Base):
    """A server that is moving, written before its new host is claimed.

    The row of the hold that it has redeemed says where it comes from. Until
    the move is confirmed, reverted or given up it counts at both hosts.
    """

    __tablename__ = 'vrt_moves'
    __table_args__ = (OPTIONS,)

    id = sa.Column(sa.Integer, primary_key=True)
    group_id = _group_key()
    member_id = sa.Column(
        sa.Integer,
        sa.ForeignKey('vrt_members.id', ondelete='CASCADE'),
        nullable=False,
        index=True,
    )
    server_uuid = sa.Column(sa.String(36), nullable=False)
    # Where it goes.
    host = sa.Column(sa.String(255), nullable=False)
    node = sa.Column(sa.String(255), nullable=False)


class Lease(Base):
    """Which planner works on a group; written before it acts."""

    __tablename__ = 'vrt_leases'
    __table_args__ = (
        sa.UniqueConstraint('group_id'),
        sa.UniqueConstraint('operation'),
        OPTIONS,
    )

    id = sa.Column(sa.Integer, primary_key=True)
    group_id = sa.Column(
        sa.Integer,
        sa.ForeignKey('vrt_groups.id', ondelete='CASCADE'),
        nullable=False,
    )
    operation = sa.Column(sa.String(36), nullable=False)
    # uuid of the planner
    owner = sa.Column(sa.String(255), nullable=False, index=True)
    ends_at = sa.Column(sa.DateTime, nullable=False)
    # Counts the others that found the group leased: VRTLease.acquire().
    asked = sa.Column(sa.Integer, nullable=False, default=0)


class Boot(Base):
    """Which request creates the servers of a group, and how far it is."""

    __tablename__ = 'vrt_boots'
    __table_args__ = (sa.UniqueConstraint('group_id'), OPTIONS)

    id = sa.Column(sa.Integer, primary_key=True)
    group_id = sa.Column(
        sa.Integer,
        sa.ForeignKey('vrt_groups.id', ondelete='CASCADE'),
        nullable=False,
    )
    request = sa.Column(sa.String(255), nullable=False)
    # booting, then done or stopped
    status = sa.Column(sa.String(16), nullable=False)
    missing = sa.Column(sa.Integer, nullable=False)
    created = sa.Column(sa.Integer, nullable=False)
    # {path: why its server could not be created}
    faults = sa.Column(sa.JSON, nullable=False)
    fault = sa.Column(sa.Text)
    # When its process said last that it goes on.
    heard_at = sa.Column(sa.DateTime, nullable=False)


class Planner(Base):
    """A planner process; see VRTPlanner."""

    __tablename__ = 'vrt_planners'
    __table_args__ = (sa.UniqueConstraint('uuid'), OPTIONS)

    id = sa.Column(sa.Integer, primary_key=True)
    uuid = sa.Column(sa.String(36), nullable=False)
    host = sa.Column(sa.String(255), nullable=False)
    process = sa.Column(sa.String(255), nullable=False)
    revision = sa.Column(sa.String(32), nullable=False)
    clock_offset = sa.Column(sa.Float, nullable=False)
    heard_at = sa.Column(sa.DateTime, nullable=False)


class Key(Base):
    """A secret of this cloud; see objects/keys.py."""

    __tablename__ = 'vrt_keys'
    __table_args__ = (sa.UniqueConstraint('name'), OPTIONS)

    id = sa.Column(sa.Integer, primary_key=True)
    name = sa.Column(sa.String(32), nullable=False)
    value = sa.Column(sa.String(255), nullable=False)
