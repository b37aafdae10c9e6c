# SPDX-License-Identifier: Apache-2.0
"""A member: a server of the group that may not exist yet."""

import contextlib
import datetime
import itertools

from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import base
from nova_groupext.objects import conditions
from nova_groupext.objects import hold as hold_obj
from nova_groupext.objects import states


@ovo.VersionedObjectRegistry.register
class VRTMember(base.VRTObject):
    VERSION = '1.0'

    fields = {
        'id': fields.IntegerField(),
        'group_id': fields.IntegerField(),
        'path': fields.StringField(),
        'stem': fields.StringField(),
        'status': fields.EnumField(list(states.Member)),
        'fault': fields.StringField(nullable=True),
        'server_uuid': fields.UUIDField(nullable=True),
        # How often planners have placed it anew by themselves, or tried to.
        'replans': fields.IntegerField(),
        'description': base.JsonField(),
        'request': base.JsonField(),
        # {id, name, vcpus, memory_mb} of the flavor that its server has, as
        # long as that is not the one described.
        'server_flavor': base.JsonField(nullable=True),
        # Of its group; looked up when they are asked for.
        'expires_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
        'has_expired': fields.BooleanField(),
    }

    @classmethod
    def get_by_path(cls, context, group_uuid, path, *, project_id):
        """Return a member of a project's group that was not deleted.

        One small query: groups may have a thousand members.

        :raises: MemberNotFound, whether it is the group or the member
        """
        row = db.find_one(
            context,
            models.Member,
            models.Member.path == path,
            *_of_project(group_uuid, project_id),
            load=(models.Member.group,),
        )
        if row is None:
            raise exception.MemberNotFound(group=group_uuid, member=path)
        return cls.from_row(context, row, **_times(row.group))

    @classmethod
    def list_by_path(cls, context, group_uuid, path, *, project_id):
        """Return the members that a path names, in the order described.

        It is the path of one, the stem of a counted member, or a subgroup.

        :raises: MemberNotFound, as get_by_path() does
        """
        with contextlib.suppress(exception.MemberNotFound):
            return [
                cls.get_by_path(
                    context, group_uuid, path, project_id=project_id
                )
            ]
        # LIKE takes upper case for lower case on SQLite.
        below = f'{path}/'
        start = sa.func.substr(models.Member.path, 1, len(below))
        rows = db.find(
            context,
            models.Member,
            (models.Member.stem == path) | (start == below),
            *_of_project(group_uuid, project_id),
            load=(models.Member.group,),
        )
        if not rows:
            raise exception.MemberNotFound(group=group_uuid, member=path)
        return [
            cls.from_row(context, row, **_times(row.group)) for row in rows
        ]

    @classmethod
    def find_by_id(cls, context, member_id):
        """Return a member, or None when its group was deleted."""
        row = db.find_one(
            context, models.Member, models.Member.id == member_id
        )
        return cls.from_row(context, row) if row else None

    @classmethod
    def list_by_ids(cls, context, ids):
        rows = db.find(context, models.Member, models.Member.id.in_(ids))
        return [cls.from_row(context, row) for row in rows]

    @staticmethod
    def held_until(context, group_id, lifetime):
        """Return until when anything of a group may be held at most.

        :param lifetime: seconds for which something may be held
        :returns: naive UTC datetime; None where nothing is held
        """
        rows = db.find(
            context,
            models.Member,
            models.Member.group_id == group_id,
            (models.Member.status == states.Member.HELD)
            | conditions.is_growing(),
        )
        since = [
            row.held_since
            if row.status == states.Member.HELD
            else row.growth_since
            for row in rows
        ]
        if not since:
            return None
        return max(since) + datetime.timedelta(seconds=lifetime)

    @classmethod
    def list_servers(cls, context, group_id=None):
        """Return the members whose servers are followed.

        Those too that have failed while their servers own the capacity.

        :param group_id: of one group; of all by default
        """
        wanted = [_is_in(states.SERVERS, ~conditions.is_adopted())]
        if group_id is not None:
            wanted.append(models.Member.group_id == group_id)
        rows = db.find(context, models.Member, *wanted)
        return [cls.from_row(context, row) for row in rows]

    @classmethod
    def list_by_servers(cls, context, uuids):
        """Return the members of groups that are there which some servers are.

        Those too that are becoming one, also by being adopted, or have failed
        as list_servers() says.
        """
        rows = db.find(
            context,
            models.Member,
            models.Member.server_uuid.in_(list(uuids)),
            _is_in(states.IN_USE),
            models.Member.group_id == models.Group.id,
            models.Group.status != states.Group.RELEASING,
        )
        return [cls.from_row(context, row) for row in rows]

    @classmethod
    def server_uuids(cls, context, group_id):
        """Return the uuids of all servers that a group has, or had."""
        rows = db.find(
            context,
            models.Member,
            models.Member.group_id == group_id,
            models.Member.server_uuid.is_not(None),
        )
        return {row.server_uuid for row in rows}

    @staticmethod
    def count_replan(context, group_id, paths):
        """Remember that planners have tried to place members anew."""
        db.compare_and_set(
            context,
            models.Member,
            models.Member.group_id == group_id,
            models.Member.path.in_(paths),
            replans=models.Member.replans + 1,
        )

    def is_unchanged_for(self, context, seconds):
        """Check whether nobody has changed the member for so long."""
        return bool(
            db.count(
                context,
                models.Member,
                models.Member.id == self.id,
                models.Member.updated_at < clock.now(-seconds),
            )
        )

    @classmethod
    def list_stuck(cls, context, seconds):
        """Return the members that have been redeeming for so long."""
        rows = db.find(
            context,
            models.Member,
            models.Member.status == states.Member.REDEEMING,
            models.Member.updated_at < clock.now(-seconds),
        )
        return [cls.from_row(context, row) for row in rows]

    @classmethod
    def list_promises(cls, context):
        """Return [(member, the holds that it was promised)], at one instant.

        Of all members that should have one, or have one.
        """
        pairs = db.find_pairs(
            context,
            models.Member,
            models.Hold,
            sa.and_(
                models.Hold.member_id == models.Member.id,
                models.Hold.status.in_(states.PROMISED),
                ~conditions.is_adopted(),
            ),
            models.Member.status.in_(states.HAVE_HOLD)
            | models.Hold.id.is_not(None),
        )
        return [
            (
                cls.from_row(context, member),
                [
                    hold_obj.VRTHold.from_row(context, hold)
                    for _member, hold in some
                    if hold is not None
                ],
            )
            for member, some in itertools.groupby(pairs, lambda pair: pair[0])
        ]

    @classmethod
    def tally_held(cls, context, project_id, besides=()):
        """Return [(member, how many like it)] of what a project holds.

        Members of one stem are alike. A member counts once while any hold of
        it is being written, stands or moves, whatever its own state is.

        :param besides: ids of members that do not count
        """
        tallies = db.tally(
            context,
            models.Member,
            (models.Member.group_id, models.Member.stem),
            models.Member.id.not_in(besides),
            *_held_by(project_id),
        )
        return [(cls.from_row(context, row), many) for row, many in tallies]

    @classmethod
    def list_growing(cls, context, project_id, besides=()):
        """Return the members of a project that hold room for a resize.

        :param besides: ids of members that are not wanted
        """
        rows = db.find(
            context,
            models.Member,
            models.Member.id.not_in(besides),
            models.Member.server_flavor.is_not(None),
            models.Member.group_id == models.Group.id,
            models.Group.project_id == project_id,
            sa.exists().where(
                models.Hold.grows_id == models.Member.id,
                models.Hold.status.in_(states.TAKES),
            ),
        )
        return [cls.from_row(context, row) for row in rows]

    @classmethod
    def list_redeeming(cls, context, project_id):
        """Return the held members of a project whose servers are created."""
        rows = db.find(
            context,
            models.Member,
            models.Member.status == states.Member.REDEEMING,
            *_held_by(project_id),
        )
        return [cls.from_row(context, row) for row in rows]

    def obj_load_attr(self, attrname):
        if attrname == 'request':
            row = db.find_one(
                self._context, models.Member, models.Member.id == self.id
            )
            self.request = row.request if row else {}
            self.obj_reset_changes(['request'])
            return None
        if attrname not in ('expires_at', 'has_expired'):
            return super().obj_load_attr(attrname)
        group = db.find_one(
            self._context, models.Group, models.Group.id == self.group_id
        )
        for name, value in _times(group).items():
            setattr(self, name, value)
            self.obj_reset_changes([name])

    @property
    def current_flavor(self):
        """{id, name, vcpus, memory_mb} of the flavor that its server has."""
        return self.server_flavor or flavor_of(self.request)

    def why_not_redeemable(self):
        """Return why no server can become this member, None if one can.

        A hold that has expired is not redeemed, whether or not the reaper
        has come by: the answer does not depend on when it does.
        """
        if self.status in states.IN_USE:
            return 'it is a server already'
        if self.status != states.Member.HELD:
            return self.fault or 'it is not held'
        if self.has_expired:
            return f'its group {expired(self.expires_at)}'
        return None

    def change(self, context, status, **values):
        """Move to a status, if nobody else has moved the member meanwhile.

        :raises: MemberStateConflict
        """
        if not db.compare_and_set_all(context, self.changed(status, **values)):
            raise self.conflict(status)
        self.status = status
        for name, value in values.items():
            setattr(self, name, value)

    def changed(self, status, **values):
        """Return the change to a status, to be made together with others.

        It meets the member only as it was read, with the same server: what
        one has found out about a server is nothing to the next one.

        :raises: MemberStateConflict when there is no such change
        """
        if self.status not in states.sources(states.MEMBER_CHANGES, status):
            raise self.conflict(status)
        own = (
            models.Member.id == self.id,
            models.Member.status == self.status,
            models.Member.server_uuid == self.server_uuid,
        )
        if status not in states.WAIT:
            values['held_since'] = None
        return models.Member, own, {'status': status, **values}, 1

    def conflict(self, status):
        """Return the error of one who could not change the member."""
        return exception.MemberStateConflict(
            member=self.path,
            status=self.status,
            reason=f'it cannot become {status}, or was changed meanwhile',
        )


def flavor_of(request):
    """Return {id, name, vcpus, memory_mb} of the flavor that is described.

    :param request: of a member
    """
    flavor = request['flavor']['nova_object.data']
    return {
        'id': request['flavor_id'],
        **{name: flavor[name] for name in ('name', 'vcpus', 'memory_mb')},
    }


def expired(at):
    """Return what is said of a group that was held until then."""
    return f'expired at {at:%Y-%m-%dT%H:%M:%SZ}'


def _is_in(statuses, *besides):
    """The condition on members in some statuses, or whose servers own.

    :param besides: conditions on what the servers have redeemed
    """
    has_redeemed = sa.exists().where(
        models.Hold.member_id == models.Member.id,
        models.Hold.status == states.Hold.REDEEMED,
        *besides,
    )
    return models.Member.status.in_(statuses) | has_redeemed


def _times(group):
    """Return what members say of how long their group is held.

    :param group: row of it
    """
    return {'expires_at': group.expires_at, 'has_expired': group.has_expired}


def _of_project(group_uuid, project_id):
    """The conditions on members of a project's group that is there."""
    return (
        models.Member.group_id == models.Group.id,
        models.Group.uuid == group_uuid,
        models.Group.project_id == project_id,
        models.Group.status != states.Group.RELEASING,
    )


def _held_by(project_id):
    """The conditions on members that take capacity without a server."""
    return (
        models.Member.group_id == models.Group.id,
        models.Group.project_id == project_id,
        sa.exists().where(
            models.Hold.member_id == models.Member.id,
            models.Hold.status.in_(states.TAKES),
        ),
    )
