# SPDX-License-Identifier: Apache-2.0
"""Tables of the processes that work on groups, of their locks and keys."""

import sqlalchemy as sa

from nova_groupext.db.models import base


class ProjectLock(base.Base):
    """Row that only serves as a lock: see quota.with_project_lock()."""

    __tablename__ = 'vrt_project_locks'
    __table_args__ = (sa.UniqueConstraint('project_id'), base.OPTIONS)

    project_id = sa.Column(sa.String(255), nullable=False)
    counter = base.counter()


class Lease(base.Base):
    """Exclusive right of a planner to work on a group; see VRTLease."""

    __tablename__ = 'vrt_leases'
    __table_args__ = (
        sa.UniqueConstraint('group_id'),
        sa.UniqueConstraint('operation'),
        base.OPTIONS,
    )

    group_id = base.group_key(is_indexed=False)
    # A new uuid for each acquisition.
    operation = sa.Column(sa.String(36), nullable=False)
    # uuid of the planner
    owner = sa.Column(sa.String(255), nullable=False, index=True)
    ends_at = sa.Column(sa.DateTime, nullable=False)
    # Number of planners that found the group leased: VRTLease.acquire().
    waiters = sa.Column(sa.Integer, nullable=False, default=0)


class Planner(base.Base):
    """A planner process; see VRTPlanner."""

    __tablename__ = 'vrt_planners'
    __table_args__ = (sa.UniqueConstraint('uuid'), base.OPTIONS)

    uuid = sa.Column(sa.String(36), nullable=False)
    host = sa.Column(sa.String(255), nullable=False)
    # Unique on the host; see scheduler/process_names.py.
    process = sa.Column(sa.String(255), nullable=False)
    # Database revision that its release needs.
    revision = sa.Column(sa.String(32), nullable=False)
    # Seconds by which the database's clock is ahead of its own.
    clock_offset = sa.Column(sa.Float, nullable=False)
    # Time of the last heartbeat.
    heartbeat_at = sa.Column(sa.DateTime, nullable=False)
    # End of its last complete round of the reaper: see VRTPlanner.is_reaper().
    round_ended_at = sa.Column(sa.DateTime)


class Boot(base.Base):
    """Progress of the request that creates a group's servers; see VRTBoot."""

    __tablename__ = 'vrt_boots'
    __table_args__ = (sa.UniqueConstraint('group_id'), base.OPTIONS)

    group_id = base.group_key(is_indexed=False)
    request_id = sa.Column(sa.String(255), nullable=False)
    # booting, then done or stopped
    status = sa.Column(sa.String(16), nullable=False)
    # Number of servers that were missing at the start, and created since.
    missing = sa.Column(sa.Integer, nullable=False)
    created = sa.Column(sa.Integer, nullable=False)
    # {path: reason why its server could not be created}
    faults = sa.Column(sa.JSON, nullable=False)
    # Reason why it was stopped.
    fault = sa.Column(sa.Text)
    # Time of the last heartbeat of its process.
    heartbeat_at = sa.Column(sa.DateTime, nullable=False)


class Create(base.Base):
    """Servers that wait for a planner to find hosts; see VRTCreate."""

    __tablename__ = 'vrt_creates'
    __table_args__ = (sa.UniqueConstraint('uuid'), base.OPTIONS)
    # Schedulers delete creates while their group is deleted with its creates.
    __mapper_args__ = {'confirm_deleted_rows': False}

    uuid = sa.Column(sa.String(36), nullable=False)
    group_id = base.group_key()
    # The path in the hints, and what describes such servers: see Matching
    hint = sa.Column(base.PATH, nullable=False)
    kinds = sa.Column(sa.JSON, nullable=False)
    server_uuids = sa.Column(sa.JSON, nullable=False)
    # open, then placed, refused or failed
    status = sa.Column(sa.String(16), nullable=False)
    # Reason why it was not placed
    fault = sa.Column(sa.Text)
    # End of the wait, or of the time for which a refusal is repeated.
    ends_at = sa.Column(sa.DateTime, nullable=False)
    # Generation of the group when it was refused, and whether some servers
    # would have been successors
    generation = sa.Column(sa.Integer)
    has_successors = sa.Column(sa.Boolean, nullable=False, default=False)
    # {server uuid: path of the member} in the draft that places these members
    members = sa.Column(sa.JSON(none_as_null=True))
    draft_id = sa.Column(sa.Integer)


class Event(base.Base):
    """A recent event of a group; see VRTEvent."""

    __tablename__ = 'vrt_events'

    group_id = base.group_key()
    name = sa.Column(sa.String(32), nullable=False)
    # The request and its user; null for a change without a request.
    request_id = sa.Column(sa.String(255))
    user_id = sa.Column(sa.String(255))
    project_id = sa.Column(sa.String(255))
    message = sa.Column(sa.Text)


class Key(base.Base):
    """A secret of this cloud; see objects/keys.py."""

    __tablename__ = 'vrt_keys'
    __table_args__ = (sa.UniqueConstraint('name'), base.OPTIONS)

    name = sa.Column(sa.String(32), nullable=False)
    value = sa.Column(sa.String(255), nullable=False)
