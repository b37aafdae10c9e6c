# SPDX-License-Identifier: Apache-2.0
"""A move of a member's server, stored before Nova claims the new host.

The redeemed hold names the source host; a shelved server has none. A server
has several moves if Nova tried a host without success.
"""

import collections
from collections.abc import Collection
from collections.abc import Sequence
from typing import Any
from typing import Self

from nova.context import RequestContext
from oslo_versionedobjects import base as ovo
import sqlalchemy as sa

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.db.aliases import Condition
from nova_groupext.objects import base
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states


@ovo.VersionedObjectRegistry.register
class VRTMove(base.VRTObject):
    VERSION = '1.0'
    MODEL = models.Move

    fields = base.fields_of(models.Move)

    def create(self, context: RequestContext) -> None:
        self.id = db.create(context, self.to_row()).id
        self.obj_reset_changes()

    @classmethod
    def list_by_group(
        cls, context: RequestContext, group_id: int
    ) -> list[Self]:
        """Return the moves of a group's servers."""
        is_of_group = models.Move.group_id == group_id
        return cls.list_rows(context, is_of_group, _has_member())

    @staticmethod
    def list_locations(context: RequestContext) -> list[sa.Row[Any]]:
        """Return the destinations of all moves.

        :returns: rows of (group_id, member_id, status, host, node), the status
            null: a move has none, but holds have
        """
        move = models.Move
        columns = (
            *(move.group_id, move.member_id, sa.null().label('status')),
            *(move.host, move.node),
        )
        return db.find_columns(context, columns, move, _has_member())

    @classmethod
    def by_member(
        cls, context: RequestContext, member_ids: Collection[int]
    ) -> dict[int, list[Self]]:
        """Return the moves by member id, of the members with moves."""
        moves = collections.defaultdict(list)
        is_of_member = models.Move.member_id.in_(member_ids)
        for move in cls.list_rows(context, is_of_member):
            moves[move.member_id].append(move)
        return moves

    @classmethod
    def are_current(
        cls, context: RequestContext, member_id: int, moves: Sequence[Self]
    ) -> bool:
        """Check whether some moves are all that a member has now."""
        current = cls.by_member(context, [member_id]).get(member_id, ())
        return {move.id for move in current} == {move.id for move in moves}

    @staticmethod
    def delete_all(
        context: RequestContext, moves: Sequence['VRTMove']
    ) -> None:
        """Delete moves that are complete or were never made."""
        if moves:
            ids = [move.id for move in moves]
            db.delete(context, models.Move, models.Move.id.in_(ids))

    @staticmethod
    def delete_unowned(context: RequestContext) -> None:
        """Delete the moves of servers that no member has any more."""
        db.delete(context, models.Move, ~_has_member())


def _has_member() -> Condition:
    is_adopted = sa.exists().where(
        models.Hold.member_id == models.Member.id, sql_conditions.is_adopted()
    )
    return sa.exists().where(
        models.Member.id == models.Move.member_id,
        models.Member.server_uuid == models.Move.server_uuid,
        models.Member.status.in_(states.MEMBER_HAS_SERVER) | is_adopted,
    )
