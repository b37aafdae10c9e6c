# SPDX-License-Identifier: Apache-2.0
"""A create: servers of one request that wait for hosts of their members.

1. A scheduler stores it: the members that the servers may become have no
   hosts yet.
2. A planner with the group's lease chooses members and finds hosts.
3. The transaction that holds these also reserves the members for the servers,
   if the create is still open.
4. The scheduler deletes it, and redeems the members, or gives up.

A refused create stays for a while: the same request again is refused at once.
"""

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import Self

from nova.context import RequestContext
from oslo_utils import uuidutils
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.db.aliases import Condition
from nova_groupext.objects import base
from nova_groupext.objects import states
from nova_groupext.objects.aliases import Path
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.member_set import Matching

#: Seconds for which the same request is refused after a refusal.
REFUSED_FOR = 30


@ovo.VersionedObjectRegistry.register
class VRTCreate(base.VRTObject):
    VERSION = '1.0'
    MODEL = models.Create

    fields = base.fields_of(
        models.Create, status=fields.EnumField(list(states.Create))
    )

    @classmethod
    def start(
        cls,
        context: RequestContext,
        group: VRTGroup,
        hint: Path,
        matching: Matching,
        server_uuids: Sequence[str],
        *,
        seconds: float,
        limit: int,
        project_limit: int,
    ) -> Self:
        """Store the create of some servers, which wait from now on.

        :param matching: what of the group describes such servers
        :param seconds: for which they wait at most
        :param limit: maximum number of open creates of all projects
        :param project_limit: maximum number of those of one project
        :raises: TooManyWaiting
        """
        values = {
            'uuid': uuidutils.generate_uuid(),
            'group_id': group.id,
            'hint': hint,
            'kinds': dict(matching.kinds),
            'server_uuids': [*server_uuids],
            'status': states.Create.OPEN,
            'has_successors': False,
        }
        db.insert(context, models.Create, ends_at=clock.now(seconds), **values)
        create = cls.find_row(context, models.Create.uuid == values['uuid'])
        # Counted once it is stored: others may be stored at the same time.
        number, of_project = create._count_up_to(context, group.project_id)
        are_too_many = number > limit or of_project > project_limit
        if are_too_many and create.give_up(context):
            raise exception.TooManyWaiting
        return create

    def _count_up_to(
        self, context: RequestContext, project_id: str
    ) -> tuple[int, int]:
        """Return how many open creates were stored until this one.

        :returns: (number of all, number of those of the project)
        """
        counted = (models.Create.id <= self.id, *_is_open())
        of_project = (
            models.Create.group_id == models.Group.id,
            models.Group.project_id == project_id,
        )
        return (
            db.count(context, models.Create, *counted),
            db.count(context, models.Create, *counted, *of_project),
        )

    @classmethod
    def list_open(cls, context: RequestContext, group_id: int) -> list[Self]:
        """Return the open creates of a group, oldest first."""
        is_own = models.Create.group_id == group_id
        return cls.list_rows(context, is_own, *_is_open())

    @classmethod
    def groups_with_open(cls, context: RequestContext) -> set[int]:
        """Return the ids of the groups with open creates."""
        return {each.group_id for each in cls.list_rows(context, *_is_open())}

    @classmethod
    def list_placed_by(
        cls, context: RequestContext, draft: VRTGroup
    ) -> list[Self]:
        """Return the open creates whose members a draft places."""
        is_own = models.Create.draft_id == draft.id
        return cls.list_rows(context, is_own, *_is_open())

    @classmethod
    def find_open(cls, context: RequestContext, create_id: int) -> Self | None:
        """Return a create if it is open and its time is not over, or None."""
        is_own = models.Create.id == create_id
        return cls.find_row(context, is_own, *_is_open())

    @classmethod
    def list_unended(
        cls, context: RequestContext, group_id: int
    ) -> list[Self]:
        """Return the creates of a group whose servers still wait."""
        return cls.list_rows(
            context,
            models.Create.group_id == group_id,
            models.Create.status.in_(
                (states.Create.OPEN, states.Create.PLACED)
            ),
            models.Create.ends_at > clock.now(),
        )

    @classmethod
    def list_ended(
        cls, context: RequestContext, uuids: Collection[str]
    ) -> dict[str, Self | None]:
        """Return {uuid: create} of those creates that are not open.

        :returns: None for a create that was removed, as with its group
        """
        still_open = {
            uuid
            for (uuid,) in db.find_columns(
                context,
                (models.Create.uuid,),
                models.Create,
                models.Create.uuid.in_(uuids),
                models.Create.status == states.Create.OPEN,
            )
        }
        ended = [uuid for uuid in uuids if uuid not in still_open]
        if not ended:
            return {}
        rows = cls.list_rows(context, models.Create.uuid.in_(ended))
        return dict.fromkeys(ended) | {each.uuid: each for each in rows}

    @classmethod
    def find_refused(
        cls,
        context: RequestContext,
        group: VRTGroup,
        hint: Path,
        matching: Matching,
        number: int,
        *,
        has_successors: bool,
    ) -> Self | None:
        """Return a recent refusal of as many such servers or fewer, or None.

        :param matching: what of the group describes the servers
        :param has_successors: True if some would be successors
        """
        refused = cls.list_rows(
            context,
            models.Create.group_id == group.id,
            models.Create.generation == group.generation,
            models.Create.hint == hint,
            models.Create.has_successors == has_successors,
            models.Create.status == states.Create.REFUSED,
            models.Create.ends_at > clock.now(),
        )
        return next(
            (
                each
                for each in refused
                if each.kinds == matching.kinds
                and len(each.server_uuids) <= number
            ),
            None,
        )

    def give_up(self, context: RequestContext) -> bool:
        """Delete the create, unless a planner has placed its members.

        :returns: False if it was placed
        """
        is_own = models.Create.uuid == self.uuid
        is_placed = models.Create.status == states.Create.PLACED
        was_open = db.delete(context, models.Create, is_own, ~is_placed)
        return bool(was_open) or not db.count(context, models.Create, is_own)

    def remove(self, context: RequestContext) -> None:
        """Delete the create, whose members are redeemed now."""
        db.delete(context, models.Create, models.Create.uuid == self.uuid)

    def withdraw(self, context: RequestContext) -> None:
        """Delete the create, and free the members that it has reserved."""

        def work() -> None:
            VRTMember.update_rows(
                context,
                models.Member.group_id == self.group_id,
                models.Member.status == states.Member.HELD,
                models.Member.reserved_for.in_(self.server_uuids),
                reserved_for=None,
            )
            self.remove(context)

        db.with_row_lock(context, models.Group, work, id=self.group_id)

    def choose(
        self,
        context: RequestContext,
        members: Mapping[str, Path],
        draft_id: int,
    ) -> None:
        """Store the members that a draft places for the servers.

        :param members: {server uuid: path}
        """
        values = {'members': dict(members), 'draft_id': draft_id}
        self.update_row(
            context, models.Create.status == states.Create.OPEN, **values
        )

    def refuse(
        self,
        context: RequestContext,
        group: VRTGroup,
        fault: str,
        *,
        has_successors: bool,
    ) -> None:
        """Refuse the create, and the same request for some seconds.

        :param group: as it is refused; a change of it ends the refusal
        :param has_successors: True if some servers would be successors
        """
        self._end(
            context,
            states.Create.REFUSED,
            fault,
            generation=group.generation,
            ends_at=clock.now(REFUSED_FOR),
            has_successors=has_successors,
        )

    def fail(self, context: RequestContext, fault: str) -> None:
        """End the create without a decision: a retry may succeed."""
        self._end(context, states.Create.FAILED, fault)

    def _end(
        self, context: RequestContext, status: str, fault: str, **values: Any
    ) -> None:
        is_open = models.Create.status == states.Create.OPEN
        self.update_row(context, is_open, status=status, fault=fault, **values)

    @staticmethod
    def purge(context: RequestContext) -> None:
        """Delete the creates whose time is over."""
        db.delete(context, models.Create, models.Create.ends_at <= clock.now())


def _is_open() -> tuple[Condition, ...]:
    return (
        models.Create.status == states.Create.OPEN,
        models.Create.ends_at > clock.now(),
    )
