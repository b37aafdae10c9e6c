# SPDX-License-Identifier: Apache-2.0
"""Changes of a group's own row: status, description, lifetime, its end."""

from typing import Any
from typing import NoReturn

from nova.context import RequestContext

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.db.aliases import Change
from nova_groupext.db.aliases import Values
from nova_groupext.objects import base
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states
from nova_groupext.objects.member import expiry_text


class GroupChanges(base.VRTObject):
    """The part of VRTGroup that changes the group, but none of its parts."""

    def change(
        self, context: RequestContext, status: states.Group, **values: Any
    ) -> None:
        """Change the status, unless the group has changed since it was read.

        :raises: GenerationConflict
        """
        is_permitted = self.status in states.states_leading_to(
            states.GROUP_CHANGES, status
        )
        if not is_permitted or not self._compare_and_set(
            context, status=status, **values
        ):
            raise exception.GenerationConflict(group=self.uuid)
        self.status = status
        self.generation += 1
        for name, value in values.items():
            setattr(self, name, value)

    def _compare_and_set(self, context: RequestContext, **values: Any) -> int:
        is_unchanged = models.Group.generation == self.generation
        values = {**values, 'generation': self.generation + 1}
        return self.update_row(context, is_unchanged, **values)

    def update_description(
        self, context: RequestContext, values: Values
    ) -> None:
        """Update descriptive columns, unless the group has changed since.

        :param values: values of columns that no plan depends on
        :raises: GenerationConflict
        """
        is_other = any(getattr(self, name) != values[name] for name in values)
        number = self.definition_generation + is_other
        if not self._compare_and_set(
            context, **values, definition_generation=number
        ):
            raise exception.GenerationConflict(group=self.uuid)

    def mark_deleted(
        self, context: RequestContext, generation: int | None = None
    ) -> None:
        """Set the group and its draft, if any, to RELEASING.

        Other changes of the group prevent it only if a generation is passed.

        :param generation: expected one of the group, None for any
        :raises: GroupNotFound when the group was deleted before,
            GenerationConflict
        """
        is_not_deleted = models.Group.status != states.Group.RELEASING
        deleted = {
            'status': states.Group.RELEASING,
            'generation': models.Group.generation + 1,
        }
        if not db.compare_and_set_all(
            context,
            Change(
                models.Group,
                (
                    models.Group.id == self.id,
                    is_not_deleted,
                    *sql_conditions.has_generation(generation),
                ),
                deleted,
                1,
            ),
            Change(
                models.Group,
                (models.Group.revises_id == self.id, is_not_deleted),
                deleted,
            ),
        ):
            row = self.find_by_id(context, self.id)
            if row is None or row.status == states.Group.RELEASING:
                raise exception.GroupNotFound(group=self.uuid)
            raise exception.GenerationConflict(group=self.uuid)
        self.status = states.Group.RELEASING

    def store_fault(self, context: RequestContext, fault: str) -> None:
        """Store why a group is still PLANNING; its generation stays."""
        is_planning = models.Group.status == states.Group.PLANNING
        self.update_row(context, is_planning, fault=fault)

    def extend(
        self,
        context: RequestContext,
        seconds: int,
        generation: int | None = None,
    ) -> None:
        """Keep the holds for some seconds from now.

        :param generation: expected one of the group, None for any
        :raises: GroupStateConflict when nothing is held, GenerationConflict
        """
        if not self.update_row(
            context,
            models.Group.status == states.Group.HELD,
            models.Group.expires_at > clock.now(),
            *sql_conditions.has_generation(generation),
            expires_at=clock.now(seconds),
            generation=models.Group.generation + 1,
        ):
            self._refuse_extension(context, generation)

    def _refuse_extension(
        self, context: RequestContext, generation: int | None
    ) -> NoReturn:
        """Raise the reason why the group could not be extended."""
        current = self.get(context, self.uuid)
        if generation not in (None, current.definition_generation):
            raise exception.GenerationConflict(group=self.uuid)
        current.check_unexpired()
        reason = 'it has no held members'
        if current.has_expired:
            reason += f'; it {expiry_text(current.expires_at)}'
        raise current.conflict(reason)

    def check_unexpired(self) -> None:
        """Refuse to change a group whose holds have expired.

        Members that are reserved for servers are not released.

        :raises: GroupStateConflict
        """
        has_free_holds = any(
            each.status == states.Member.HELD and each.reserved_for is None
            for each in self.members
        )
        if has_free_holds and self.has_expired:
            raise self.conflict(
                f'it {expiry_text(self.expires_at)}; its holds are '
                'being released'
            )

    def conflict(self, reason: str) -> exception.GroupStateConflict:
        """Return the error for a request that the group's state forbids.

        :param reason: phrase that continues the sentence after the state
        """
        return exception.GroupStateConflict(
            group=self.uuid, status=self.status, reason=reason
        )

    def purge(self, context: RequestContext) -> None:
        """Delete the group's rows; Placement must have none of its holds."""
        db.delete(context, models.Move, models.Move.group_id == self.id)
        db.delete(context, models.Group, models.Group.id == self.id)
