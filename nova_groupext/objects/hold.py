# SPDX-License-Identifier: Apache-2.0
"""A hold: the Placement allocation of a member without a server.

A *filler* is a hold without a member. It takes what is left of a host that
its group has to itself, so that nobody else gets it.

A *growth* is held for a member that is a server, beside what that has: all of
what it will have once it is resized to the flavor that is described by now.
"""

from oslo_db import exception as db_exc
from oslo_utils import timeutils
from oslo_utils import uuidutils
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields
import sqlalchemy as sa
from sqlalchemy import orm

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import base
from nova_groupext.objects import conditions
from nova_groupext.objects import states

# What of a hold stays when its seat is held under another uuid.
SEAT = (
    'group_id',
    'member_id',
    'grows_id',
    'host',
    'node',
    'provider_uuid',
    'allocations',
    'mappings',
)


@ovo.VersionedObjectRegistry.register
class VRTHold(base.VRTObject):
    VERSION = '1.0'

    fields = {
        'id': fields.IntegerField(),
        # The consumer in Placement; fresh for every attempt.
        'uuid': fields.UUIDField(),
        'group_id': fields.IntegerField(),
        # None for a filler, and for a growth.
        'member_id': fields.IntegerField(nullable=True),
        # The member that a growth is for.
        'grows_id': fields.IntegerField(nullable=True),
        'status': fields.EnumField(list(states.Hold)),
        'host': fields.StringField(),
        'node': fields.StringField(),
        'provider_uuid': fields.UUIDField(),
        # {provider: {"resources": {class: amount}}}
        'allocations': base.JsonField(),
        # {request group: [provider, ...]}
        'mappings': base.JsonField(),
        # Whether Placement has answered the request that wrote it.
        'is_answered': fields.BooleanField(default=False),
        'created_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
        'updated_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
    }

    @classmethod
    def of(cls, member, seat):
        """Return a hold of a member's seat in a plan, not created yet.

        :param member: VRTMember
        :param seat: what VRTPlan.placement says of it
        """
        return cls(
            uuid=uuidutils.generate_uuid(),
            group_id=member.group_id,
            member_id=member.id,
            grows_id=None,
            status=states.Hold.WRITING,
            is_answered=False,
            **cls.of_seat(seat),
        )

    @classmethod
    def growth(cls, member, seat):
        """Return a hold for the resize of a member's server, not created yet.

        :param seat: of the server after that, as of() takes it
        """
        hold = cls.of(member, seat)
        hold.member_id, hold.grows_id = None, member.id
        return hold

    @classmethod
    def redeemed(cls, member, seat):
        """Return what says where a member's server is, not created yet."""
        hold = cls.of(member, seat)
        hold.status, hold.is_answered = states.Hold.REDEEMED, True
        return hold

    @classmethod
    def filler(cls, group_id, node, amounts):
        """Return a hold of a part of a host for nobody, not created yet.

        :param node: Nova's ComputeNode
        :param amounts: {resource class: amount}
        """
        return cls(
            uuid=uuidutils.generate_uuid(),
            group_id=group_id,
            member_id=None,
            grows_id=None,
            status=states.Hold.WRITING,
            host=node.host,
            node=node.hypervisor_hostname,
            provider_uuid=node.uuid,
            allocations={node.uuid: {'resources': amounts}},
            mappings={'': [node.uuid]},
            is_answered=False,
        )

    @property
    def is_filler(self):
        return self.member_id is None and not self.is_growth

    @property
    def is_growth(self):
        return self.obj_attr_is_set('grows_id') and self.grows_id is not None

    def has_seat(self, seat):
        """Whether it is what a plan says of a member, which may be None."""
        return seat is not None and (self.provider_uuid, self.allocations) == (
            seat['provider'],
            seat['allocations'],
        )

    def again(self):
        """Return a hold of the same seat under a new uuid, not created yet."""
        seat = {name: getattr(self, name) for name in SEAT}
        return VRTHold(
            uuid=uuidutils.generate_uuid(),
            status=states.Hold.WRITING,
            is_answered=False,
            **seat,
        )

    def create(self, context):
        [created] = self.create_all(context, [self])
        self.id, self.created_at = created.id, created.created_at
        self.obj_reset_changes()

    @classmethod
    def create_all(cls, context, holds):
        """Store holds in one transaction and return them as they are.

        :raises: GroupNotFound when their group was forgotten meanwhile
        """
        rows = [models.Hold(**hold.columns(models.Hold)) for hold in holds]
        try:
            created = db.create_all(context, rows)
        except db_exc.DBReferenceError as exc:
            raise exception.GroupNotFound(group=holds[0].group_id) from exc
        return [cls.from_row(context, row) for row in created]

    @classmethod
    def _list(cls, context, *conditions):
        rows = db.find(context, models.Hold, *conditions)
        return [cls.from_row(context, row) for row in rows]

    @classmethod
    def list_by_group(cls, context, group_id, *statuses):
        """Return the holds of a group, or those in some states."""
        return cls._list(
            context,
            models.Hold.group_id == group_id,
            models.Hold.status.in_(statuses or states.Hold),
        )

    @classmethod
    def list_by_status(cls, context, *statuses):
        return cls._list(context, models.Hold.status.in_(statuses))

    @staticmethod
    def count(context, *statuses):
        return db.count(context, models.Hold, models.Hold.status.in_(statuses))

    @classmethod
    def list_by_uuids(cls, context, uuids):
        return cls._list(context, models.Hold.uuid.in_(list(uuids)))

    @classmethod
    def still(cls, context, holds, status):
        """Return those of some holds that are in a state now."""
        return cls._list(
            context,
            models.Hold.id.in_([hold.id for hold in holds]),
            models.Hold.status == status,
        )

    @classmethod
    def list_fillers(cls, context, group_id, provider_uuid):
        """Return the fillers that a group has on a provider."""
        return cls._list(
            context,
            models.Hold.group_id == group_id,
            models.Hold.provider_uuid == provider_uuid,
            conditions.is_filler(),
            models.Hold.status == states.Hold.HELD,
        )

    @classmethod
    def list_growths(cls, context):
        """Return all that is held for resizes."""
        return cls._list(context, conditions.is_growth())

    @classmethod
    def growths_of(cls, context, group_ids):
        """Return {member id: what is held for the resize of its server}."""
        found = cls._list(
            context,
            conditions.is_growth(),
            models.Hold.group_id.in_(group_ids),
        )
        return {growth.grows_id: growth for growth in found}

    @classmethod
    def get_growth(cls, context, server_uuid):
        """Return what is held for the resize of a server, or None."""
        row = db.find_one(
            context,
            models.Hold,
            conditions.is_growth(),
            models.Hold.grows_id == models.Member.id,
            models.Member.server_uuid == server_uuid,
            models.Member.status == states.Member.ACTIVE,
        )
        return cls.from_row(context, row) if row else None

    @classmethod
    def list_unfinished(cls, context, before):
        """Return what was written down before a time and came to nothing.

        Not what a planner still works on, nor what was to take the place of
        a hold that is being moved: who finds out about the latter needs it.
        """
        is_worked_on = sa.exists().where(
            models.Intent.group_id == models.Hold.group_id,
            models.Intent.lease_ends_at >= timeutils.utcnow(),
        )
        moving = orm.aliased(models.Hold)
        is_heir = sa.exists().where(
            moving.member_id == models.Hold.member_id,
            moving.status == states.Hold.MOVING,
        )
        return cls._list(
            context,
            models.Hold.status == states.Hold.WRITING,
            models.Hold.created_at < before,
            ~is_worked_on,
            ~is_heir,
        )

    @classmethod
    def list_heirs(cls, context, hold):
        """Return what was to hold a member's seat under another uuid.

        What is written down for another seat belongs to a revision.
        """
        written = cls._list(
            context,
            models.Hold.member_id == hold.member_id,
            models.Hold.status == states.Hold.WRITING,
        )
        return [
            heir
            for heir in written
            if heir.provider_uuid == hold.provider_uuid
            and heir.allocations == hold.allocations
        ]

    @classmethod
    def redeemed_by(cls, context, member_ids):
        """Return {member id: the hold that its server has redeemed}."""
        redeemed = cls._list(
            context,
            models.Hold.member_id.in_(member_ids),
            models.Hold.status == states.Hold.REDEEMED,
        )
        return {hold.member_id: hold for hold in redeemed}

    @classmethod
    def get_by_member(cls, context, member_id):
        """Return the one hold that a member was promised, or None."""
        row = db.find_one(
            context,
            models.Hold,
            models.Hold.member_id == member_id,
            models.Hold.status.in_(states.PROMISED),
        )
        return cls.from_row(context, row) if row else None

    def follow(self, context, seat):
        """Take the place of a server that is somewhere else now.

        :param seat: what VRTPlan.placement says of it
        :returns: False when the hold is not that server's any more
        """
        values = self.of_seat(seat)
        done = db.compare_and_set(
            context,
            models.Hold,
            models.Hold.id == self.id,
            models.Hold.status == states.Hold.REDEEMED,
            models.Hold.node == self.node,
            **values,
        )
        if done:
            for name, value in values.items():
                setattr(self, name, value)
        return bool(done)

    @staticmethod
    def of_seat(seat):
        """Return the values of a row that a seat in a plan tells.

        :param seat: what VRTPlan.placement says of a member
        """
        return {
            'host': seat['host'],
            'node': seat['node'],
            'provider_uuid': seat['provider'],
            'allocations': seat['allocations'],
            'mappings': seat['mappings'],
        }

    def claim(self, context, before=None):
        """Become the one who moves the hold to a new uuid.

        Placement alone cannot arbitrate here: of two emptyings of a consumer
        at the same moment it may accept both.

        :param before: take over from one who began before that time
        :returns: False when somebody else is at it
        """
        free = models.Hold.status == states.Hold.HELD
        if before is not None:
            free |= sa.and_(
                models.Hold.status == states.Hold.MOVING,
                models.Hold.updated_at < before,
            )
        claimed = bool(
            db.compare_and_set(
                context,
                models.Hold,
                models.Hold.id == self.id,
                free,
                status=states.Hold.MOVING,
            )
        )
        if claimed:
            self.status = states.Hold.MOVING
        return claimed

    @staticmethod
    def promised(holds):
        """Return the change with which written holds become their owners'.

        All of them, or the transaction that it is a part of fails.
        """
        written = (
            models.Hold.id.in_([hold.id for hold in holds]),
            models.Hold.status == states.Hold.WRITING,
        )
        # Placement has answered all of them.
        values = {'status': states.Hold.HELD, 'is_answered': True}
        return models.Hold, written, values, len(holds)

    @classmethod
    def retire(cls, context, holds, *, is_answered):
        """Let those leave that never became their members'.

        :param is_answered: whether no request that fills them can come any
            more
        """
        db.compare_and_set(
            context,
            models.Hold,
            models.Hold.id.in_([hold.id for hold in holds]),
            models.Hold.status == states.Hold.WRITING,
            status=states.Hold.LEAVING,
            is_answered=is_answered,
        )

    @classmethod
    def dismiss(cls, context, fillers):
        """Let fillers leave that are not needed, or not there, any more."""
        db.compare_and_set(
            context,
            models.Hold,
            models.Hold.id.in_([filler.id for filler in fillers]),
            conditions.is_filler(),
            models.Hold.status == states.Hold.HELD,
            status=states.Hold.LEAVING,
        )

    def destroy(self, context):
        """Forget a hold of which Placement knows nothing any more."""
        db.delete(context, models.Hold, models.Hold.id == self.id)
