# SPDX-License-Identifier: Apache-2.0
"""A lease: which planner works on a group, and on its drafts.

It is written before the planner acts, and ends by the database's clock. One
that has ended without being given back is of a planner that died: any other
takes it over, and finishes what there is to do.

Nobody waits for a lease. Who finds a group leased leaves word: the planner
that has the lease sees that before it gives it back, and looks at the group
once more.
"""

from oslo_db import exception as db_exc
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import base

# A planner tries so often when the lease was given back, or has ended, just as
# it was about to leave word.
ATTEMPTS = 10


@ovo.VersionedObjectRegistry.register
class VRTLease(base.VRTObject):
    VERSION = '1.0'

    fields = {
        'group_id': fields.IntegerField(),
        # Another one each time that somebody acquires it.
        'operation': fields.UUIDField(),
        # The uuid of a VRTPlanner.
        'owner': fields.StringField(),
        # How long it is, from when it was renewed.
        'seconds': fields.IntegerField(),
        # Counts the words that others had left when this was read.
        'asked': fields.IntegerField(default=0),
    }

    @classmethod
    def acquire(cls, context, group_id, owner, operation, seconds):
        """Become the one who works on a group, or leave word to who does.

        :param group_id: of a group that is no draft
        :param owner: uuid of the planner
        :param operation: a new uuid
        :param seconds: how long the lease is, until it is renewed
        :returns: None when another works on it, and will look at it again
        :raises: GroupNotFound when the group was forgotten meanwhile,
            GroupBusy in the unlikely case that it is always another's
        """
        for _attempt in range(ATTEMPTS):
            lease = cls.try_to_acquire(
                context, group_id, owner, operation, seconds
            )
            if lease or cls._leave_word(context, group_id):
                return lease
        raise exception.GroupBusy(group=group_id)

    @classmethod
    def try_to_acquire(cls, context, group_id, owner, operation, seconds):
        """Do as acquire() does, but leave no word."""
        named = {'operation': operation, 'owner': owner, 'asked': 0}
        values = {**named, 'ends_at': clock.now(seconds)}
        lease = cls(group_id=group_id, seconds=seconds, **named)
        if db.compare_and_set(
            context,
            models.Lease,
            models.Lease.group_id == group_id,
            ~_is_running(),
            **values,
        ):
            return lease
        try:
            db.insert(context, models.Lease, group_id=group_id, **values)
        except db_exc.DBDuplicateEntry:
            return None
        except db_exc.DBReferenceError as exc:
            raise exception.GroupNotFound(group=group_id) from exc
        return lease

    @staticmethod
    def _leave_word(context, group_id):
        return db.compare_and_set(
            context,
            models.Lease,
            models.Lease.group_id == group_id,
            _is_running(),
            asked=models.Lease.asked + 1,
        )

    @staticmethod
    def busy_groups(context):
        """Return the ids of groups that are worked on, and of their drafts."""
        leased = sa.select(models.Lease.group_id).where(_is_running())
        rows = db.find(
            context,
            models.Group,
            models.Group.id.in_(leased) | models.Group.revises_id.in_(leased),
        )
        return {row.id for row in rows}

    @staticmethod
    def count_by_owner(context):
        """Return {uuid of a planner: how many groups it works on}."""
        return db.count_each(context, models.Lease, models.Lease.owner)

    @staticmethod
    def of_group(group):
        """Return the condition on a lease that it is of a group row.

        :param group: models.Group, or an alias of it; a draft has that of the
            group that it revises
        """
        return models.Lease.group_id == sa.func.coalesce(
            group.revises_id, group.id
        )

    @classmethod
    def is_leased(cls, group):
        """Return the condition on a group row that it is worked on."""
        return sa.exists().where(cls.of_group(group), _is_running())

    @classmethod
    def is_left(cls, group):
        """Return the condition on a group row that somebody died over it."""
        return sa.exists().where(cls.of_group(group), ~_is_running())

    def renew(self, context):
        """Own the group from now on for as long as at the beginning.

        What a planner writes by a lease, it writes in one transaction with
        this: nothing is written by one who has lost it.

        :raises: GroupBusy when it was taken over, as the lease had ended
        """
        if not db.compare_and_set_all(context, self.renewed()):
            raise exception.GroupBusy(group=self.group_id)

    def renewed(self):
        """Return the change that renews it, to be made with others."""
        own = (models.Lease.operation == self.operation,)
        return models.Lease, own, {'ends_at': clock.now(self.seconds)}, 1

    def release(self, context):
        """Give the lease back, unless there is more to do.

        :returns: False when others have left word since that was last asked:
            the lease is kept then
        """
        own = models.Lease.operation == self.operation
        if db.delete(
            context, models.Lease, own, models.Lease.asked == self.asked
        ):
            return True
        row = db.find_one(context, models.Lease, own)
        if row is None:
            # Taken over: the other looks at the group as it is now.
            return True
        self.asked = row.asked
        return False

    @staticmethod
    def operations(context, owner):
        """Return what a planner has leases for."""
        own = models.Lease.owner == owner
        rows = db.find(context, models.Lease, own, _is_running())
        return [row.operation for row in rows]

    @staticmethod
    def end(context, operations):
        """End leases by which nobody works.

        They are left for others to take over: there is something to finish.
        """
        if operations:
            db.compare_and_set(
                context,
                models.Lease,
                models.Lease.operation.in_(operations),
                _is_running(),
                ends_at=clock.now(-1),
            )


def _is_running():
    return models.Lease.ends_at >= clock.now()
