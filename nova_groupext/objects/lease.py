# SPDX-License-Identifier: Apache-2.0
"""A lease: the exclusive right of a planner to work on a group.

It includes the group's drafts. A planner writes its lease before it acts; the
lease ends by the database's clock. If a lease has ended without release, its
planner has died: any other planner may take it over and finish the work.

No planner waits for a lease. A planner that finds a group leased increments
the lease's ``waiters`` counter: the owner sees that before it releases the
lease, and checks the group once more.
"""

from collections.abc import Collection
from typing import Any
from typing import Self

from nova.context import RequestContext
from oslo_db import exception as db_exc
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.db.aliases import Change
from nova_groupext.db.aliases import Condition
from nova_groupext.objects import base

# Maximum number of attempts to acquire a lease that each time ends just before
# ``waiters`` is incremented.
MAX_ATTEMPTS = 10


@ovo.VersionedObjectRegistry.register
class VRTLease(base.VRTObject):
    VERSION = '1.0'
    MODEL = models.Lease

    fields = base.fields_of(
        models.Lease,
        # Duration, counted from the last renewal
        seconds=fields.IntegerField(),
    )

    @classmethod
    def acquire(
        cls,
        context: RequestContext,
        group_id: int,
        owner: str,
        operation: str,
        seconds: int,
        *,
        wakes_owner: bool = True,
    ) -> Self | None:
        """Acquire the lease of a group, or ask its owner to check again.

        :param group_id: id of a group that is no draft
        :param owner: uuid of the planner
        :param operation: a new uuid
        :param seconds: duration of the lease until it is renewed
        :param wakes_owner: False to ask nothing of a planner that has it
        :returns: None when another planner has the lease and will check the
            group again
        :raises: GroupNotFound when the group was deleted meanwhile, GroupBusy
            in the unlikely case that all attempts fail
        """
        values = {'operation': operation, 'owner': owner, 'waiters': 0}
        lease = cls(group_id=group_id, seconds=seconds, **values)
        for _attempt in range(MAX_ATTEMPTS):
            if lease._write(context, **values):
                return lease
            if not wakes_owner or cls._count_waiter(context, group_id):
                return None
        raise exception.GroupBusy(group=group_id)

    def _write(self, context: RequestContext, **values: Any) -> bool:
        """Write the lease if no other is running; return whether it was."""
        values['ends_at'] = clock.now(self.seconds)
        is_own = models.Lease.group_id == self.group_id
        if self.update_rows(context, is_own, ~_is_running(), **values):
            return True
        try:
            db.insert(context, models.Lease, group_id=self.group_id, **values)
        except db_exc.DBDuplicateEntry:
            return False
        except db_exc.DBReferenceError as exc:
            raise exception.GroupNotFound(group=self.group_id) from exc
        return True

    @classmethod
    def _count_waiter(cls, context: RequestContext, group_id: int) -> int:
        return cls.update_rows(
            context,
            models.Lease.group_id == group_id,
            _is_running(),
            waiters=models.Lease.waiters + 1,
        )

    @staticmethod
    def leased_groups(context: RequestContext) -> set[int]:
        """Return the ids of groups with a running lease, and their drafts."""
        leased = sa.select(models.Lease.group_id).where(_is_running())
        rows = db.find(
            context,
            models.Group,
            models.Group.id.in_(leased) | models.Group.revises_id.in_(leased),
        )
        return {row.id for row in rows}

    @staticmethod
    def count_by_owner(context: RequestContext) -> dict[str, int]:
        """Return {uuid of a planner: number of its leases}."""
        return db.count_each(context, models.Lease, models.Lease.owner)

    @staticmethod
    def belongs_to(group: type[models.Group]) -> Condition:
        """Return the condition that a lease belongs to a group row.

        :param group: the model, or an alias of it; a draft shares the lease
            of the group that it revises
        """
        return models.Lease.group_id == sa.func.coalesce(
            group.revises_id, group.id
        )

    @classmethod
    def is_leased(cls, group: type[models.Group]) -> Condition:
        """Return the condition that a group row has a running lease."""
        return sa.exists().where(cls.belongs_to(group), _is_running())

    @classmethod
    def is_abandoned(cls, group: type[models.Group]) -> Condition:
        """Return the condition that a group row has a lease that has ended."""
        return sa.exists().where(cls.belongs_to(group), ~_is_running())

    def renew(self, context: RequestContext) -> None:
        """Extend the lease by its full duration from now.

        A planner renews its lease in the transaction that writes rows under
        it: a planner that has lost the lease cannot write.

        :raises: GroupBusy when another planner has taken the lease over
        """
        if not db.compare_and_set_all(context, self.renewal()):
            raise exception.GroupBusy(group=self.group_id)

    def renewal(self) -> Change:
        """Return the change that renews the lease, to combine with others."""
        is_own = (models.Lease.operation == self.operation,)
        return Change(
            models.Lease, is_own, {'ends_at': clock.now(self.seconds)}, 1
        )

    def release(self, context: RequestContext) -> bool:
        """Delete the lease, unless other planners wait for it meanwhile.

        :returns: False when ``waiters`` has changed since it was last read:
            the lease is kept then
        """
        is_own = models.Lease.operation == self.operation
        if db.delete(
            context, models.Lease, is_own, models.Lease.waiters == self.waiters
        ):
            return True
        row = db.find_one(context, models.Lease, is_own)
        if row is None:
            # The planner that took it over checks the group itself.
            return True
        self.waiters = row.waiters
        return False

    @staticmethod
    def list_operations(context: RequestContext, owner: str) -> list[str]:
        """Return the operations of a planner's running leases."""
        is_own = models.Lease.owner == owner
        rows = db.find(context, models.Lease, is_own, _is_running())
        return [row.operation for row in rows]

    @classmethod
    def end_all(
        cls, context: RequestContext, operations: Collection[str]
    ) -> None:
        """End the leases of processes that are gone.

        The rows stay, so that another planner takes them over and finishes the
        work.
        """
        if operations:
            cls.update_rows(
                context,
                models.Lease.operation.in_(operations),
                _is_running(),
                ends_at=clock.now(-1),
            )


def _is_running() -> Condition:
    return models.Lease.ends_at >= clock.now()
