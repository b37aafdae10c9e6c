# SPDX-License-Identifier: Apache-2.0
"""A move: where a member's server is going, from before that is claimed.

Where it comes from says the hold that it has redeemed; a shelved one comes
from nowhere. A server has more than one if a host was tried in vain.
"""

from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields
import sqlalchemy as sa

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import base
from nova_groupext.objects import conditions
from nova_groupext.objects import states


@ovo.VersionedObjectRegistry.register
class VRTMove(base.VRTObject):
    VERSION = '1.0'

    fields = {
        'id': fields.IntegerField(),
        'group_id': fields.IntegerField(),
        'member_id': fields.IntegerField(),
        'server_uuid': fields.UUIDField(),
        'host': fields.StringField(),
        'node': fields.StringField(),
    }

    def create(self, context):
        row = db.create(context, models.Move(**self.columns(models.Move)))
        self.id = row.id
        self.obj_reset_changes()

    @classmethod
    def list_by_group(cls, context, group_id):
        """Return the moves of servers that a group has."""
        rows = db.find(
            context,
            models.Move,
            models.Move.group_id == group_id,
            _is_of_a_member(),
        )
        return [cls.from_row(context, row) for row in rows]

    @classmethod
    def by_member(cls, context, member_ids):
        """Return {member id: its moves} of those that have any."""
        found = {}
        for row in db.find(
            context, models.Move, models.Move.member_id.in_(member_ids)
        ):
            move = cls.from_row(context, row)
            found.setdefault(move.member_id, []).append(move)
        return found

    @classmethod
    def are_of(cls, context, member_id, moves):
        """Check whether some moves are all that a member has now."""
        now = cls.by_member(context, [member_id]).get(member_id, ())
        return {move.id for move in now} == {move.id for move in moves}

    @staticmethod
    def forget(context, moves):
        """Forget moves that are over, or never came about."""
        if moves:
            ids = [move.id for move in moves]
            db.delete(context, models.Move, models.Move.id.in_(ids))

    @staticmethod
    def forget_strays(context):
        """Forget the moves of servers that no member has any more."""
        db.delete(context, models.Move, ~_is_of_a_member())


def _is_of_a_member():
    is_adopted = sa.exists().where(
        models.Hold.member_id == models.Member.id, conditions.is_adopted()
    )
    return sa.exists().where(
        models.Member.id == models.Move.member_id,
        models.Member.server_uuid == models.Move.server_uuid,
        models.Member.status.in_(states.IN_USE) | is_adopted,
    )
