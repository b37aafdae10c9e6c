# SPDX-License-Identifier: Apache-2.0
"""The tables, all named ``vrt_*``.

A group's definition is stored once, in rows: subgroups, members, policies and
relationships. The topologies that tenants see and that the planner solves are
composed from these rows (see objects/topology.py).

Three mechanisms protect against concurrent writers: ``vrt_groups.generation``
increases with every change; ``vrt_leases.group_id`` is unique, so that one
planner at a time works on a group; the ``counter`` columns serialise the
transactions that count and hold for a project (``vrt_project_locks``) or that
evaluate a group as a whole (``vrt_groups``).
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
# SQLite must not reuse ids either: data that names a deleted row must not
# refer to a new one.
OPTIONS = {
    'mysql_engine': 'InnoDB',
    'mysql_charset': 'utf8mb4',
    'sqlite_autoincrement': True,
}


def _case_sensitive(length):
    """Return a case-sensitive string type, on MySQL as well."""
    return sa.String(length).with_variant(
        mysql.VARCHAR(length, charset='utf8mb4', collation='utf8mb4_bin'),
        'mysql',
        'mariadb',
    )


PATH = _case_sensitive(512)


class Base(models.ModelBase, orm.DeclarativeBase):
    metadata = sa.MetaData(naming_convention=NAMING)
    # Makes SQLAlchemy read back the defaults of a new row.
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
    """Return a column that counts transactions of db.api.with_row_lock()."""
    return sa.Column(sa.Integer, nullable=False, default=0, server_default='0')


class ProjectLock(Base):
    """Row that only serves as a lock: see quota.with_project_lock()."""

    __tablename__ = 'vrt_project_locks'
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
    fault_at = sa.Column(sa.DateTime)
    generation = sa.Column(sa.Integer, nullable=False, default=1)
    counter = _counter()
    # True if the planner holds the plan as soon as there is one.
    hold_when_planned = sa.Column(sa.Boolean, nullable=False)
    client_token = sa.Column(_case_sensitive(255))
    # Digest of the request that came with the token, because the group itself
    # may change. Null without a token, and in groups older than this column.
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
    # True if the revision takes effect as soon as its swap is made.
    is_prepared = sa.Column(sa.Boolean, nullable=False, default=False)
    # {path: [node, ...]}: the revision only places these members again, on
    # other compute nodes than these; null for other revisions.
    excluded_hosts = sa.Column(sa.JSON(none_as_null=True))
    # [{at, policy}]: strict policies that the servers' hosts violate
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
    events = orm.relationship('Event', cascade='all, delete-orphan')


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
    # The path without the index: the path of the member set.
    member_set = sa.Column(PATH, nullable=False)
    status = sa.Column(sa.String(16), nullable=False)
    fault = sa.Column(sa.Text)
    fault_at = sa.Column(sa.DateTime)
    server_uuid = sa.Column(sa.String(36))
    # Number of automatic replacements that planners have tried.
    replacement_attempts = sa.Column(sa.Integer, nullable=False, default=0)
    # Start of the time that it is held without a server, and that capacity is
    # held for the resize of its server.
    held_since = sa.Column(sa.DateTime)
    reservation_since = sa.Column(sa.DateTime)
    # The tenant's input: flavor, image, availability_zone, count...
    description = sa.Column(sa.JSON, nullable=False)
    # The flavor and image that Nova resolved for that input.
    resolved_request = sa.Column(sa.JSON, nullable=False)
    # {id, name, vcpus, memory_mb} of the server's present flavor, until it is
    # resized to the described one; null if they are the same.
    server_flavor = sa.Column(sa.JSON(none_as_null=True))


class Policy(Base):
    __tablename__ = 'vrt_policies'
    __table_args__ = (OPTIONS,)

    id = sa.Column(sa.Integer, primary_key=True)
    group_id = _group_key()
    # Path of the topology node with the policy; '' is the group.
    at = sa.Column(PATH, nullable=False)
    relationship_id = sa.Column(
        sa.Integer,
        sa.ForeignKey('vrt_relationships.id', ondelete='CASCADE'),
        index=True,
    )
    type = sa.Column(sa.String(32), nullable=False)
    # The tenant's input: type, scope, strict, weight...
    definition = sa.Column(sa.JSON, nullable=False)


class Relationship(Base):
    __tablename__ = 'vrt_relationships'
    __table_args__ = (OPTIONS,)

    id = sa.Column(sa.Integer, primary_key=True)
    group_id = _group_key()
    at = sa.Column(PATH, nullable=False)
    # The tenant's input without policies: name, between, bandwidth.
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
    placements = sa.Column(sa.JSON, nullable=False)
    # The rest of the solver's answer, unchanged
    answer = sa.Column(sa.JSON, nullable=False)
    # True once the group has another definition, or is to be planned anew
    is_outdated = sa.Column(sa.Boolean, nullable=False)


class Proposal(Base):
    """Server moves that would satisfy a group's violated policies again."""

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
    # End of the time during which a planner may be working on it.
    claimed_until = sa.Column(sa.DateTime)


class Hold(Base):
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
        OPTIONS,
    )

    id = sa.Column(sa.Integer, primary_key=True)
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
    # nothing. Null for holds that no swap fills.
    if_compensated = sa.Column(sa.JSON(none_as_null=True))
    # True if it ends with the swap in progress, which does not need its
    # capacity.
    ends_with_swap = sa.Column(sa.Boolean, nullable=False, default=False)
    # Start of the time in which a late request may still fill it in Placement,
    # and the number of checks since.
    watched_at = sa.Column(sa.DateTime, index=True)
    checks = sa.Column(sa.Integer, nullable=False, default=0)
    # True if Placement may keep the amounts without a consumer record: the
    # consumer is missing, or two requests may have filled it.
    lost = sa.Column(sa.Boolean, nullable=False, default=False)


class Move(Base):
    """A move of a server, written before its new host is claimed.

    The row of the redeemed hold names the source host. Until Nova confirms,
    reverts or abandons the move, the server counts at both hosts.
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
    # Destination
    host = sa.Column(sa.String(255), nullable=False)
    node = sa.Column(sa.String(255), nullable=False)


class Lease(Base):
    """Exclusive right of a planner to work on a group; see VRTLease."""

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
    # Number of planners that found the group leased: VRTLease.acquire().
    waiters = sa.Column(sa.Integer, nullable=False, default=0)


class Boot(Base):
    """Progress of the request that creates a group's servers; see VRTBoot."""

    __tablename__ = 'vrt_boots'
    __table_args__ = (sa.UniqueConstraint('group_id'), OPTIONS)

    id = sa.Column(sa.Integer, primary_key=True)
    group_id = sa.Column(
        sa.Integer,
        sa.ForeignKey('vrt_groups.id', ondelete='CASCADE'),
        nullable=False,
    )
    request_id = sa.Column(sa.String(255), nullable=False)
    # booting, then done or stopped
    status = sa.Column(sa.String(16), nullable=False)
    missing = sa.Column(sa.Integer, nullable=False)
    created = sa.Column(sa.Integer, nullable=False)
    # {path: reason why its server could not be created}
    faults = sa.Column(sa.JSON, nullable=False)
    fault = sa.Column(sa.Text)
    # Time of the last heartbeat of its process.
    heartbeat_at = sa.Column(sa.DateTime, nullable=False)


class Event(Base):
    """A recent event of a group; see VRTEvent."""

    __tablename__ = 'vrt_events'
    __table_args__ = (OPTIONS,)

    id = sa.Column(sa.Integer, primary_key=True)
    group_id = _group_key()
    name = sa.Column(sa.String(32), nullable=False)
    request_id = sa.Column(sa.String(255))
    user_id = sa.Column(sa.String(255))
    project_id = sa.Column(sa.String(255))
    message = sa.Column(sa.Text)


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
    heartbeat_at = sa.Column(sa.DateTime, nullable=False)


class Key(Base):
    """A secret of this cloud; see objects/keys.py."""

    __tablename__ = 'vrt_keys'
    __table_args__ = (sa.UniqueConstraint('name'), OPTIONS)

    id = sa.Column(sa.Integer, primary_key=True)
    name = sa.Column(sa.String(32), nullable=False)
    value = sa.Column(sa.String(255), nullable=False)
