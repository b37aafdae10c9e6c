# SPDX-License-Identifier: Apache-2.0
"""A proposal: which servers to move for a group's policies to hold again.

The row is what waits: whoever asks stores it, and a planner that has time
works it out. A group has one at most; who asks again gets another one.
"""

import contextlib

from oslo_db import exception as db_exc
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import base
from nova_groupext.objects import group as group_obj

PLANNING = 'planning'
PLACED, REFUSED, UNDECIDED = 'placed', 'refused', 'undecided'


@ovo.VersionedObjectRegistry.register
class VRTProposal(base.VRTObject):
    VERSION = '1.0'

    fields = {
        'id': fields.IntegerField(),
        'group_id': fields.IntegerField(),
        # PLANNING until a planner has an answer.
        'status': fields.EnumField((PLANNING, PLACED, REFUSED, UNDECIDED)),
        # Whether it is proved that no fewer moves would do.
        'fewest': fields.BooleanField(default=False),
        # {member path: {host, domains}}
        'moves': base.JsonField(),
        'created_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
    }

    @classmethod
    def ask(cls, context, group, status=PLANNING, fewest=False):
        """Store a proposal instead of an earlier one.

        :param status: PLACED where there is nothing to move
        :raises: GroupNotFound when the group was forgotten meanwhile
        """
        own = models.Proposal.group_id == group.id
        db.delete(context, models.Proposal, own)
        asked = {'group_id': group.id, 'status': status, 'fewest': fewest}
        # Somebody else has asked at the same time.
        with contextlib.suppress(db_exc.DBDuplicateEntry):
            try:
                db.insert(context, models.Proposal, moves={}, **asked)
            except db_exc.DBReferenceError as exc:
                raise exception.GroupNotFound(group=group.uuid) from exc

    @classmethod
    def of_group(cls, context, group):
        """Return the proposal for a group, None if nobody has asked."""
        row = db.find_one(
            context, models.Proposal, models.Proposal.group_id == group.id
        )
        return cls.from_row(context, row) if row else None

    @classmethod
    def list_waiting(cls, context):
        """Return the groups that wait for one, without their parts."""
        return group_obj.VRTGroup.list_brief(
            context,
            models.Group.id == models.Proposal.group_id,
            *_is_waiting(),
        )

    @staticmethod
    def count_waiting(context, project_id):
        """Return how many proposals a project waits for."""
        return db.count(
            context,
            models.Proposal,
            models.Proposal.status == PLANNING,
            models.Proposal.group_id == models.Group.id,
            models.Group.project_id == project_id,
        )

    @classmethod
    def claim(cls, context, group, seconds):
        """Begin to work on the proposal for a group.

        :param seconds: after which others take it for left
        :returns: VRTProposal; None when somebody else has begun, or it is not
            wanted any more
        """
        own = models.Proposal.group_id == group.id
        if not db.compare_and_set(
            *(context, models.Proposal, own, *_is_waiting()),
            claimed_until=clock.now(seconds),
        ):
            return None
        return cls.of_group(context, group)

    def answer(self, context, status, fewest, moves):
        """Store what a planner has found."""
        db.compare_and_set(
            context,
            models.Proposal,
            models.Proposal.id == self.id,
            status=status,
            fewest=fewest,
            moves=moves,
        )


def _is_waiting():
    """The conditions on a proposal that a planner is to work it out."""
    until = models.Proposal.claimed_until
    return (
        models.Proposal.status == PLANNING,
        until.is_(None) | (until < clock.now()),
    )
