# SPDX-License-Identifier: Apache-2.0
"""A member: a server of the group that may not exist yet."""

from collections.abc import Collection
from collections.abc import Iterable
import datetime
from typing import Any
from typing import Self

from nova.context import RequestContext
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.db.aliases import Change
from nova_groupext.objects import base
from nova_groupext.objects import member_queries
from nova_groupext.objects import states
from nova_groupext.objects.aliases import Flavor
from nova_groupext.objects.aliases import JsonObject
from nova_groupext.objects.aliases import Path
from nova_groupext.objects.member_set import VRTMemberSet


@ovo.VersionedObjectRegistry.register
class VRTMember(member_queries.MemberQueries):
    VERSION = '1.0'
    MODEL = models.Member

    fields = base.fields_of(
        models.Member,
        status=fields.EnumField(list(states.Member)),
        # The VRTMemberSet with the path `member_set`
        described=fields.ObjectField('VRTMemberSet'),
        # The group's; loaded at first use
        expires_at=fields.DateTimeField(nullable=True, tzinfo_aware=False),
        has_expired=fields.BooleanField(),
    )

    @classmethod
    def count_replacement(
        cls, context: RequestContext, group_id: int, paths: Collection[Path]
    ) -> None:
        """Count an automatic replacement of members."""
        cls.update_rows(
            context,
            models.Member.group_id == group_id,
            models.Member.path.in_(paths),
            replacement_attempts=models.Member.replacement_attempts + 1,
        )

    @classmethod
    def from_row(
        cls,
        context: RequestContext,
        row: models.Member,
        unread: Collection[str] = (),
        **values: Any,
    ) -> Self:
        if 'described' not in values and _has_described(row):
            values['described'] = VRTMemberSet.from_row(context, row.described)
        return super().from_row(context, row, unread, **values)

    @classmethod
    def from_rows(
        cls,
        context: RequestContext,
        rows: Iterable[models.Member],
        *,
        with_group: bool = False,
    ) -> list[Self]:
        """Create members of rows; those of one set share its object.

        :param with_group: whether to set what their groups determine
        """
        described: dict[int, VRTMemberSet] = {}
        members = []
        for row in rows:
            values = (
                member_queries.group_fields(row.group) if with_group else {}
            )
            if _has_described(row):
                number = row.described.id
                if number not in described:
                    described[number] = VRTMemberSet.from_row(
                        context, row.described
                    )
                values['described'] = described[number]
            members.append(cls.from_row(context, row, **values))
        return members

    @classmethod
    def tentative(
        cls,
        path: Path,
        described: VRTMemberSet,
        succeeds: Path | None = None,
    ) -> Self:
        """Return a member without host and server, not stored yet.

        :param described: member set that describes it
        :param succeeds: see models.Member
        """
        return cls(
            path=path,
            member_set=described.path,
            described=described,
            status=states.Member.TENTATIVE,
            fault=None,
            server_uuid=None,
            server_request=None,
            succeeds=succeeds,
        )

    def obj_load_attr(self, attrname: str) -> None:
        if attrname == 'described':
            loaded = {attrname: self._load_member_set()}
        elif attrname in ('expires_at', 'has_expired'):
            group = db.find_one(
                self._context, models.Group, models.Group.id == self.group_id
            )
            if group is None:
                raise exception.GroupNotFound(group=self.group_id)
            loaded = member_queries.group_fields(group)
        else:
            return super().obj_load_attr(attrname)
        for name, value in loaded.items():
            setattr(self, name, value)
        self.obj_reset_changes(loaded.keys())

    def _load_member_set(self) -> VRTMemberSet:
        found = VRTMemberSet.find_row(
            self._context,
            models.MemberSet.group_id == self.group_id,
            models.MemberSet.path == self.member_set,
        )
        if found is None:
            # A revision has dropped the member meanwhile.
            raise exception.GenerationConflict(group=self.group_id)
        return found

    @property
    def resolved_request(self) -> JsonObject:
        """Flavor and image as described; see api/resolve.py."""
        return self.described.resolved_request

    @property
    def current_request(self) -> JsonObject:
        """Flavor and image of its server, or those of the next one."""
        return self.server_request or self.resolved_request

    def with_server_of(self, member: 'VRTMember') -> Self:
        """Return a copy, not stored, that has the server of another member.

        It tells what a resize adds. This member stays one without a server: it
        is held as described if the server goes meanwhile.
        """
        resized = self.tentative(self.path, self.described, self.succeeds)
        resized.server_request = member.current_request
        return resized

    @property
    def pending_request(self) -> JsonObject | None:
        """Request of its server, if its member set describes another one.

        A member keeps the request of a server that has gone.
        """
        has_server = (
            self.reserved_for is not None
            or self.status in states.MEMBER_HAS_SERVER
        )
        return self.server_request if has_server else None

    @property
    def is_successor(self) -> bool:
        """True for a successor, which is no member yet."""
        return self.succeeds is not None

    @property
    def own_server(self) -> str | None:
        """Uuid of the server that it has, or is reserved for."""
        return self.reserved_for or self.server_uuid

    @property
    def has_other_flavor(self) -> bool:
        """True if its server is to be resized to the described flavor."""
        return self.server_request is not None and (
            self.server_request['flavor_id']
            != self.resolved_request['flavor_id']
        )

    def redeem_obstacle(self) -> str | None:
        """Return the reason why no server can redeem this member, or None.

        An expired hold is never redeemable, whether or not the reaper has
        released it.
        """
        if self.status in states.MEMBER_HAS_SERVER:
            return 'it already has a server'
        if self.status != states.Member.HELD:
            return self.fault or 'it is not held; hold or replan the group'
        if self.reserved_for is not None:
            return 'a server that was created before waits for it'
        if self.has_expired:
            return f'its group {expiry_text(self.expires_at)}'
        return None

    def change(
        self, context: RequestContext, status: states.Member, **values: Any
    ) -> None:
        """Change the status, unless the member has changed meanwhile.

        :raises: MemberStateConflict
        """
        if not db.compare_and_set_all(
            context, self.status_change(status, **values)
        ):
            raise self.conflict(status)
        self.status = status
        for name, value in values.items():
            setattr(self, name, value)

    def status_change(self, status: states.Member, **values: Any) -> Change:
        """Return the change to a status, for a larger transaction.

        It requires the status and the server that the member had when it was
        read: findings about one server do not apply to the next one.

        :raises: MemberStateConflict when the state table forbids the change
        """
        if self.status not in states.states_leading_to(
            states.MEMBER_CHANGES, status
        ):
            raise self.conflict(status)
        is_unchanged = (
            models.Member.id == self.id,
            models.Member.status == self.status,
            models.Member.server_uuid == self.server_uuid,
        )
        if status != states.Member.HELD:
            # A later hold has an age of its own: see hold_ages.
            values['held_since'] = values['reserved_for'] = None
        return Change(
            models.Member, is_unchanged, {'status': status, **values}, 1
        )

    def conflict(self, status: states.Member) -> exception.MemberStateConflict:
        """Return the error for a member that could not change its status."""
        return exception.MemberStateConflict(
            member=self.path,
            status=self.status,
            reason=f'its status cannot change to {status}, or it was changed '
            'meanwhile',
        )


def flavor_of(request: JsonObject) -> Flavor:
    """Return the flavor of a resolved request.

    :param request: see api/resolve.py
    """
    flavor = request['flavor']['nova_object.data']
    return {
        'id': request['flavor_id'],
        **{name: flavor[name] for name in ('name', 'vcpus', 'memory_mb')},
    }


def expiry_text(time: datetime.datetime) -> str:
    """Return the phrase for a group that has expired at a time."""
    return f'expired at {time:%Y-%m-%dT%H:%M:%SZ}'


def _has_described(row: models.Member) -> bool:
    """Check whether the member set of a member was read, and exists."""
    is_read = 'described' not in sa.inspect(row).unloaded
    return is_read and row.described is not None
