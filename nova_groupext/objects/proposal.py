# SPDX-License-Identifier: Apache-2.0
"""A proposal: server moves that would satisfy a group's policies again.

The row is the queue: a request inserts it, and an idle planner answers it. A
group has at most one; a new request replaces it.
"""

from collections.abc import Mapping
import contextlib
from typing import Self

from nova.context import RequestContext
from oslo_db import exception as db_exc
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.db.aliases import Condition
from nova_groupext.objects import base
from nova_groupext.objects.aliases import Destination
from nova_groupext.objects.aliases import Path
from nova_groupext.objects.group import VRTGroup

PLANNING = 'planning'
PLACED, REFUSED, UNDECIDED = 'placed', 'refused', 'undecided'


@ovo.VersionedObjectRegistry.register
class VRTProposal(base.VRTObject):
    VERSION = '1.0'
    MODEL = models.Proposal

    fields = base.fields_of(
        models.Proposal,
        status=fields.EnumField((PLANNING, PLACED, REFUSED, UNDECIDED)),
    )

    @classmethod
    def request(
        cls,
        context: RequestContext,
        group: VRTGroup,
        status: str = PLANNING,
        fewest: bool = False,
    ) -> None:
        """Insert a proposal, replacing an earlier one.

        :param status: PLACED where there is nothing to move
        :raises: GroupNotFound when the group was deleted meanwhile
        """
        db.delete(
            context, models.Proposal, models.Proposal.group_id == group.id
        )
        values = {'group_id': group.id, 'status': status, 'fewest': fewest}
        # A concurrent request has inserted one.
        with contextlib.suppress(db_exc.DBDuplicateEntry):
            try:
                db.insert(context, models.Proposal, moves={}, **values)
            except db_exc.DBReferenceError as exc:
                raise exception.GroupNotFound(group=group.uuid) from exc

    @classmethod
    def find_by_group(
        cls, context: RequestContext, group: VRTGroup
    ) -> Self | None:
        """Return the proposal for a group; None without a request."""
        return cls.find_row(context, models.Proposal.group_id == group.id)

    @classmethod
    def list_waiting(cls, context: RequestContext) -> list[VRTGroup]:
        """Return the groups with a waiting proposal, without their parts."""
        return VRTGroup.list_rows(
            context,
            models.Group.id == models.Proposal.group_id,
            *_is_waiting(),
        )

    @staticmethod
    def count_waiting(context: RequestContext, project_id: str) -> int:
        """Return the number of a project's proposals without an answer."""
        return db.count(
            context,
            models.Proposal,
            models.Proposal.status == PLANNING,
            models.Proposal.group_id == models.Group.id,
            models.Group.project_id == project_id,
        )

    @classmethod
    def claim(
        cls, context: RequestContext, group: VRTGroup, seconds: float
    ) -> Self | None:
        """Claim the proposal for a group.

        :param seconds: duration of the claim; then another planner may claim
            it
        :returns: None when another planner has claimed it, or it was answered
            or deleted
        """
        is_own = models.Proposal.group_id == group.id
        claimed_until = clock.now(seconds)
        if not cls.update_rows(
            context, is_own, *_is_waiting(), claimed_until=claimed_until
        ):
            return None
        return cls.find_by_group(context, group)

    def answer(
        self,
        context: RequestContext,
        status: str,
        fewest: bool,
        moves: Mapping[Path, Destination],
    ) -> None:
        """Store a planner's answer."""
        self.update_row(context, status=status, fewest=fewest, moves=moves)


def _is_waiting() -> tuple[Condition, ...]:
    """Return the conditions that a proposal waits for a planner."""
    claimed_until = models.Proposal.claimed_until
    return (
        models.Proposal.status == PLANNING,
        claimed_until.is_(None) | (claimed_until < clock.now()),
    )
