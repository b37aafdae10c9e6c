# SPDX-License-Identifier: Apache-2.0
"""A hold: the Placement allocation of a member without a server.

A *filler* is a hold without a member. It takes what is left of a host that
its group has to itself, so that nobody else gets it.

A *growth* is held for a member that is a server, beside what that has: all of
what it will have once it is resized to the flavor that is described by now.
"""

from oslo_db import exception as db_exc
from oslo_utils import uuidutils
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import base
from nova_groupext.objects import conditions
from nova_groupext.objects import hold_search
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
class VRTHold(hold_search.HoldSearch, base.VRTObject):
    VERSION = '1.0'

    fields = {
        'id': fields.IntegerField(),
        # The consumer in Placement; filled from nothing once.
        'uuid': fields.UUIDField(),
        # None when the group was forgotten.
        'group_id': fields.IntegerField(nullable=True),
        # None for a filler, and for a growth.
        'member_id': fields.IntegerField(nullable=True),
        # The member that a growth is for.
        'grows_id': fields.IntegerField(nullable=True),
        'status': fields.EnumField(list(states.Hold)),
        # Of the server that redeems it, or has.
        'server_uuid': fields.UUIDField(nullable=True, default=None),
        'host': fields.StringField(),
        'node': fields.StringField(),
        'provider_uuid': fields.UUIDField(),
        # {provider: {"resources": {class: amount}}}
        'allocations': base.JsonField(),
        # {request group: [provider, ...]}
        'mappings': base.JsonField(),
        # Of a successor: what it is if its swap comes to nothing. That is its
        # seat then and the uuid of the hold that had it, or {}; None of what
        # no swap fills. Of a REDEEMED one: {} while its server is adopted.
        'otherwise': base.JsonField(nullable=True, default=None),
        # Whether it ends with the swap under way.
        'leaves': fields.BooleanField(default=False),
        # Since when a request that fills it may be on its way, and how often
        # the reaper has looked since.
        'watched_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
        'looks': fields.IntegerField(default=0),
        # True if Placement may keep its amounts without its consumer.
        'lost': fields.BooleanField(default=False),
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
        hold.status = states.Hold.REDEEMED
        hold.server_uuid = member.server_uuid
        return hold

    @classmethod
    def adopted(cls, member, seat):
        """Return what says where a server is that a draft is to adopt.

        Not created yet. It ends if the draft comes to nothing.

        :param member: the draft's VRTMember
        """
        hold = cls.redeemed(member, seat)
        hold.otherwise = {}
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
        )

    @property
    def is_filler(self):
        return self.member_id is None and not self.is_growth

    @property
    def is_held_filler(self):
        return self.is_filler and self.status == states.Hold.HELD

    @property
    def is_growth(self):
        return self.grows_id is not None

    def amounts(self):
        """Return {resource class: amount} of its host's own provider."""
        return self.allocations[self.provider_uuid]['resources']

    def again(self):
        """Return a hold of the same seat under a new uuid, not created yet."""
        seat = {name: getattr(self, name) for name in SEAT}
        return VRTHold(
            uuid=uuidutils.generate_uuid(),
            status=states.Hold.WRITING,
            **seat,
        )

    def succeed(self, old):
        """Become the successor of a hold: it has its seat if all is in vain.

        :param old: VRTHold, or None for one that is nothing then
        """
        self.otherwise = old.place() if old else {}

    def heir(self):
        """Return a successor that has this seat, or else nothing at all."""
        heir = self.again()
        heir.succeed(self)
        heir.allocations, heir.mappings = {}, {}
        return heir

    def place(self):
        """Return whose seat it is, and which, and its uuid."""
        return {name: getattr(self, name) for name in ('uuid', *SEAT)}

    def turned_back(self):
        """Return what a successor is if its swap comes to nothing, or None."""
        if not self.otherwise:
            return None
        return VRTHold(**{**self.otherwise, 'uuid': self.uuid})

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
    def cut_anew(cls, context, group_id, going, wanted):
        """End fillers and store others, while their group has hosts.

        A part of a transaction of the group's.

        :returns: the new ones; None when it was deleted, or holds nothing
        """
        if not db.count(context, models.Group, *conditions.still(group_id)):
            return None
        cls.dismiss(context, going)
        return cls.create_all(context, wanted)

    def follow(self, context, seat):
        """Write that the server of the hold is somewhere else now.

        For relocation.follow(), which knows when that is done.

        :param seat: what VRTPlan.placement says of it
        :returns: False when the hold is not that server's any more
        """
        done = db.compare_and_set(
            context,
            models.Hold,
            models.Hold.id == self.id,
            models.Hold.status == states.Hold.REDEEMED,
            models.Hold.node == self.node,
            **self.of_seat(seat),
        )
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

    def seat(self, domains):
        """Return what a plan says of who is held here; see of_seat().

        :param domains: {level: domain of its host}
        """
        return {
            'host': self.host,
            'node': self.node,
            'provider': self.provider_uuid,
            'allocations': self.allocations,
            'mappings': self.mappings,
            'domains': domains,
        }

    @staticmethod
    def promised(holds):
        """Return the change with which written holds become their owners'.

        All of them, or the transaction that it is a part of fails.
        """
        written = (
            models.Hold.id.in_([hold.id for hold in holds]),
            models.Hold.status == states.Hold.WRITING,
        )
        values = {'status': states.Hold.HELD, 'otherwise': None}
        return models.Hold, written, values, len(holds)

    @classmethod
    def retire(cls, context, holds, *, is_watched=False):
        """Let those end that never became their members'.

        :param holds: VRTHolds about which Placement has answered
        :param is_watched: whether it has not, of these
        """
        if not holds:
            return
        db.compare_and_set(
            context,
            models.Hold,
            models.Hold.id.in_([hold.id for hold in holds]),
            models.Hold.status == states.Hold.WRITING,
            status=states.Hold.RELEASING,
            **(watching() if is_watched else {}),
        )

    @classmethod
    def dismiss(cls, context, fillers):
        """Let fillers end that are not needed, or not there, any more."""
        db.compare_and_set(
            context,
            models.Hold,
            models.Hold.id.in_([filler.id for filler in fillers]),
            conditions.is_filler(),
            models.Hold.status == states.Hold.HELD,
            status=states.Hold.RELEASING,
        )

    def release(self, context):
        """Note that a hold in state RELEASING owns nothing any more."""
        db.compare_and_set(
            context,
            models.Hold,
            models.Hold.id == self.id,
            models.Hold.status == states.Hold.RELEASING,
            status=states.Hold.RELEASED,
        )
        self.status = states.Hold.RELEASED

    @staticmethod
    def orphan(context, group_id):
        """Let tombstones be nobody's, so that their group can be forgotten.

        A server that has redeemed one a moment ago may come to nothing yet.
        """
        own = models.Hold.group_id == group_id
        db.compare_and_set(
            context,
            models.Hold,
            own,
            models.Hold.status == states.Hold.REDEEMED,
            status=states.Hold.RELEASED,
            **watching(),
        )
        db.compare_and_set(
            context,
            models.Hold,
            own,
            models.Hold.status == states.Hold.RELEASED,
            group_id=None,
            member_id=None,
            grows_id=None,
        )

    def note_lost(self, context):
        """Remember that Placement does not show its consumer any more."""
        db.compare_and_set(
            context,
            models.Hold,
            models.Hold.id == self.id,
            lost=True,
            **watching(),
        )

    def note_look(self, context):
        """Remember that one has looked at a hold that is watched."""
        is_over = self.looks + 1 == len(hold_search.WATCHES)
        db.compare_and_set(
            context,
            models.Hold,
            models.Hold.id == self.id,
            models.Hold.looks == self.looks,
            looks=self.looks + 1,
            watched_at=None if is_over else models.Hold.watched_at,
            # It tells since when a hold is in its state.
            updated_at=models.Hold.updated_at,
        )

    @staticmethod
    def forget_ended(context, seconds):
        """Forget what has ended so long ago, and is not watched any more."""
        db.delete(
            context,
            models.Hold,
            models.Hold.status == states.Hold.RELEASED,
            models.Hold.watched_at.is_(None),
            models.Hold.updated_at < clock.now(-seconds),
        )


def watching():
    """Return the values of a row that is to be watched from now on."""
    return {'watched_at': clock.now(), 'looks': 0}
