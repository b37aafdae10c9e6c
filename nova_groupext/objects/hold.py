# SPDX-License-Identifier: Apache-2.0
"""A hold: the Placement allocation of a member without a server.

A *placeholder* is a hold for no member. It takes the free capacity of an
exclusive host of its group, so that no other consumer gets it.

A *resize reservation* is held for a member with a server, in addition to that
server's allocation. It contains the full allocation after the resize to the
described flavor, or after an unshelve onto an exclusive host.
"""

from collections.abc import Collection
from collections.abc import Sequence
from typing import TYPE_CHECKING
from typing import Any
from typing import Self

from nova.context import RequestContext
from oslo_db import exception as db_exc
from oslo_utils import uuidutils
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.db.aliases import Change
from nova_groupext.objects import base
from nova_groupext.objects import hold_queries
from nova_groupext.objects import states
from nova_groupext.objects import watched_holds
from nova_groupext.objects.aliases import Amounts
from nova_groupext.objects.aliases import Domains
from nova_groupext.objects.member_placement import MemberPlacement

if TYPE_CHECKING:
    # Slow to import.
    from nova.objects.compute_node import ComputeNode

    from nova_groupext.objects.member import VRTMember

# The owner and the placement of a hold: a successor for the same capacity
# copies these columns.
CAPACITY_COLUMNS = (
    'group_id',
    'member_id',
    'resize_member_id',
    'host',
    'node',
    'provider_uuid',
    'allocations',
    'mappings',
)


@ovo.VersionedObjectRegistry.register
class VRTHold(hold_queries.HoldQueries):
    VERSION = '1.0'
    MODEL = models.Hold

    fields = base.fields_of(
        models.Hold, status=fields.EnumField(list(states.Hold))
    )

    @classmethod
    def for_member(
        cls, member: 'VRTMember', placement: MemberPlacement
    ) -> Self:
        """Return a hold for a planned member, not stored yet."""
        return cls(
            uuid=uuidutils.generate_uuid(),
            group_id=member.group_id,
            member_id=member.id,
            resize_member_id=None,
            status=states.Hold.WRITING,
            **cls.placement_columns(placement),
        )

    @classmethod
    def reservation(
        cls, member: 'VRTMember', placement: MemberPlacement
    ) -> Self:
        """Return a resize reservation for a server, not stored yet.

        :param placement: the one after the resize or unshelve
        """
        hold = cls.for_member(member, placement)
        hold.member_id, hold.resize_member_id = None, member.id
        return hold

    @classmethod
    def for_server(
        cls, member: 'VRTMember', placement: MemberPlacement
    ) -> Self:
        """Return a REDEEMED hold for a member's server, not stored yet."""
        hold = cls.for_member(member, placement)
        hold.status = states.Hold.REDEEMED
        hold.server_uuid = member.server_uuid
        return hold

    @classmethod
    def for_adoption(
        cls, member: 'VRTMember', placement: MemberPlacement
    ) -> Self:
        """Return a REDEEMED hold for a server that a draft is to adopt.

        The hold is not stored yet. It ends if the draft is not committed.

        :param member: the draft's
        """
        hold = cls.for_server(member, placement)
        hold.if_compensated = {}
        return hold

    @classmethod
    def placeholder(
        cls, group_id: int, node: 'ComputeNode', amounts: Amounts
    ) -> Self:
        """Return a placeholder for a part of a host, not stored yet."""
        return cls(
            uuid=uuidutils.generate_uuid(),
            group_id=group_id,
            member_id=None,
            resize_member_id=None,
            status=states.Hold.WRITING,
            host=node.host,
            node=node.hypervisor_hostname,
            provider_uuid=node.uuid,
            allocations={node.uuid: {'resources': amounts}},
            mappings={'': [node.uuid]},
        )

    @property
    def is_placeholder(self) -> bool:
        return self.member_id is None and not self.is_resize_reservation

    @property
    def is_held_placeholder(self) -> bool:
        return self.is_placeholder and self.status == states.Hold.HELD

    @property
    def is_resize_reservation(self) -> bool:
        return self.resize_member_id is not None

    @property
    def owner_id(self) -> int | None:
        """Id of the member that it is for; None for a placeholder."""
        return (
            self.resize_member_id
            if self.is_resize_reservation
            else self.member_id
        )

    def amounts(self) -> Amounts:
        """Return the amounts on the host's root provider."""
        return self.allocations[self.provider_uuid]['resources']

    def duplicate(self) -> 'VRTHold':
        """Return a hold of the same capacity with a new uuid, not stored."""
        return VRTHold(
            uuid=uuidutils.generate_uuid(),
            status=states.Hold.WRITING,
            **self.capacity_columns(),
        )

    def set_predecessor(self, old: Self | None) -> None:
        """Record the state that the hold has if its swap is compensated.

        :param old: hold whose capacity it then has, or None for nothing
        """
        self.if_compensated = (
            {'uuid': old.uuid, **old.capacity_columns()} if old else {}
        )

    def fallback(self) -> 'VRTHold':
        """Return a successor that only a compensation of the swap fills."""
        successor = self.duplicate()
        successor.set_predecessor(self)
        successor.allocations, successor.mappings = {}, {}
        return successor

    def capacity_columns(self) -> dict[str, Any]:
        """Return the values of CAPACITY_COLUMNS."""
        return {name: getattr(self, name) for name in CAPACITY_COLUMNS}

    def as_compensated(self) -> 'VRTHold | None':
        """Return the hold as it is after a compensated swap, or None."""
        if not self.if_compensated:
            return None
        return VRTHold(**{**self.if_compensated, 'uuid': self.uuid})

    def create(self, context: RequestContext) -> None:
        [created] = self.create_all(context, [self])
        self.id, self.created_at = created.id, created.created_at
        self.obj_reset_changes()

    @classmethod
    def create_all(
        cls, context: RequestContext, holds: Sequence[Self]
    ) -> list[Self]:
        """Insert holds in one transaction and return them.

        :raises: GroupNotFound when their group was deleted meanwhile
        """
        try:
            created = db.create_all(context, [each.to_row() for each in holds])
        except db_exc.DBReferenceError as exc:
            raise exception.GroupNotFound(group=holds[0].group_id) from exc
        return [cls.from_row(context, row) for row in created]

    @classmethod
    def change(
        cls,
        context: RequestContext,
        holds: Collection['VRTHold'],
        *statuses: states.Hold,
        **values: Any,
    ) -> None:
        """Update those of some holds that are in one of some states.

        The objects stay as they are.
        """
        if holds:
            cls.update_rows(
                context,
                models.Hold.uuid.in_([hold.uuid for hold in holds]),
                models.Hold.status.in_(statuses),
                **values,
            )

    def update_placement(
        self, context: RequestContext, placement: MemberPlacement
    ) -> bool:
        """Store the new location of the hold's server.

        move_transitions.store_location() calls this once the move is complete.

        :returns: False when the hold is no longer REDEEMED on the same node
        """
        count = self.update_row(
            context,
            models.Hold.status == states.Hold.REDEEMED,
            models.Hold.node == self.node,
            **self.placement_columns(placement),
        )
        return bool(count)

    def set_placement(self, placement: MemberPlacement) -> None:
        """Set the fields to a placement that is already stored."""
        for name, value in self.placement_columns(placement).items():
            setattr(self, name, value)

    @staticmethod
    def placement_columns(placement: MemberPlacement) -> dict[str, Any]:
        """Return the column values for a member's placement."""
        return {
            'host': placement.host,
            'node': placement.node,
            'provider_uuid': placement.provider,
            'allocations': placement.allocations,
            'mappings': placement.mappings,
        }

    def placement(self, domains: Domains) -> MemberPlacement:
        """Return the MemberPlacement that a plan has for the hold's member."""
        return MemberPlacement(
            self.host,
            self.node,
            self.provider_uuid,
            self.allocations,
            self.mappings,
            domains,
        )

    @staticmethod
    def change_to_held(holds: Sequence['VRTHold']) -> Change:
        """Return the change from WRITING to HELD for some holds.

        The transaction fails unless all of them are WRITING.
        """
        is_written = (
            models.Hold.id.in_([hold.id for hold in holds]),
            models.Hold.status == states.Hold.WRITING,
        )
        values = {'status': states.Hold.HELD, 'if_compensated': None}
        return Change(models.Hold, is_written, values, len(holds))

    @classmethod
    def abandon(
        cls,
        context: RequestContext,
        holds: Sequence[Self],
        *,
        is_watched: bool = False,
    ) -> None:
        """Release holds that are still in state WRITING.

        :param is_watched: True if Placement may still fill them
        """
        watched = watched_holds.watch_values() if is_watched else {}
        abandoned = {'status': states.Hold.RELEASING, **watched}
        cls.change(context, holds, states.Hold.WRITING, **abandoned)

    @classmethod
    def release_all(
        cls, context: RequestContext, holds: Collection['VRTHold']
    ) -> None:
        """Set RELEASING holds to RELEASED: Placement has nothing of them."""
        released = {'status': states.Hold.RELEASED}
        cls.change(context, holds, states.Hold.RELEASING, **released)
        for hold in holds:
            hold.status = states.Hold.RELEASED
