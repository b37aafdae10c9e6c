# SPDX-License-Identifier: Apache-2.0
"""A hold: the Placement allocation of a member without a server.

A *filler* is a hold without a member. It takes what is left of a host that
its group has to itself, so that nobody else gets it.
"""

from oslo_utils import timeutils
from oslo_utils import uuidutils
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields
import sqlalchemy as sa
from sqlalchemy import orm

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import base
from nova_groupext.objects import states

# What of a hold stays when its seat is held under another uuid.
SEAT = (
    'group_id',
    'member_id',
    'host',
    'node',
    'provider_uuid',
    'allocations',
    'mappings',
)

# A hold that belongs to its member.
PROMISED = {'status': states.Hold.HELD, 'is_answered': True}


@ovo.VersionedObjectRegistry.register
class VRTHold(base.VRTObject):
    VERSION = '1.0'

    fields = {
        'id': fields.IntegerField(),
        # The consumer in Placement; fresh for every attempt.
        'uuid': fields.UUIDField(),
        'group_id': fields.IntegerField(),
        # None for a filler.
        'member_id': fields.IntegerField(nullable=True),
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
            status=states.Hold.WRITING,
            host=seat['host'],
            node=seat['node'],
            provider_uuid=seat['provider'],
            allocations=seat['allocations'],
            mappings=seat['mappings'],
            is_answered=False,
        )

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
        return self.member_id is None

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
        """Store holds in one transaction and return them as they are."""
        rows = [models.Hold(**hold.columns(models.Hold)) for hold in holds]
        return [
            cls.from_row(context, row) for row in db.create_all(context, rows)
        ]

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

    @classmethod
    def list_by_uuids(cls, context, uuids):
        return cls._list(context, models.Hold.uuid.in_(list(uuids)))

    @classmethod
    def list_fillers(cls, context, group_id, provider_uuid):
        """Return the fillers that a group has on a provider."""
        return cls._list(
            context,
            models.Hold.group_id == group_id,
            models.Hold.provider_uuid == provider_uuid,
            models.Hold.member_id.is_(None),
            models.Hold.status == states.Hold.HELD,
        )

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
    def list_heirs(cls, context, member_id):
        """Return what was to take the place of a member's hold."""
        return cls._list(
            context,
            models.Hold.member_id == member_id,
            models.Hold.status == states.Hold.WRITING,
        )

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

    def end(self, context, status, *changes):
        """Become REDEEMED or LEAVING together with what that entails.

        :param changes: see db.api.compare_and_set_all
        :returns: False when somebody else has changed any of it: then
            nothing is changed
        """
        own = (models.Hold.id == self.id, models.Hold.status == self.status)
        done = db.compare_and_set_all(
            context, *changes, (models.Hold, own, {'status': status}, 1)
        )
        if done:
            self.status = status
        return bool(done)

    def promised(self):
        """Return the change with which a written hold is its member's."""
        own = (
            models.Hold.id == self.id,
            models.Hold.status == states.Hold.WRITING,
        )
        return models.Hold, own, PROMISED, 1

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
            models.Hold.member_id.is_(None),
            models.Hold.status == states.Hold.HELD,
            status=states.Hold.LEAVING,
        )

    def destroy(self, context):
        """Forget a hold of which Placement knows nothing any more."""
        db.delete(context, models.Hold, models.Hold.id == self.id)
