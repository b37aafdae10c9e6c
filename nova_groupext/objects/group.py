# SPDX-License-Identifier: Apache-2.0
"""A VRT group: the root of a topology and the owner of its parts."""

from collections.abc import Sequence
from typing import Self
import uuid

from nova.context import RequestContext
from oslo_utils import uuidutils
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.db.aliases import Attribute
from nova_groupext.db.aliases import Condition
from nova_groupext.objects import base
from nova_groupext.objects import group_changes
from nova_groupext.objects import group_queries
from nova_groupext.objects import listing
from nova_groupext.objects import states
from nova_groupext.objects import work_queries
from nova_groupext.objects.aliases import Path
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.member_set import VRTMemberSet
from nova_groupext.objects.policy import VRTPolicy
from nova_groupext.objects.policy import VRTRelationship
from nova_groupext.solver.policies import registry

PARTS = (
    models.Group.subgroups,
    models.Group.member_sets,
    models.Group.members,
    models.Group.policies,
    models.Group.relationships,
)


@ovo.VersionedObjectRegistry.register
class VRTGroup(
    group_queries.GroupQueries,
    work_queries.WorkQueries,
    group_changes.GroupChanges,
):
    VERSION = '1.0'
    MODEL = models.Group

    fields = base.fields_of(
        models.Group,
        status=fields.EnumField(list(states.Group)),
        # The parts, in the order of the description
        subgroups=fields.ListOfStringsField(),
        member_sets=fields.ListOfObjectsField('VRTMemberSet'),
        members=fields.ListOfObjectsField('VRTMember'),
        policies=fields.ListOfObjectsField('VRTPolicy'),
        relationships=fields.ListOfObjectsField('VRTRelationship'),
    )

    @property
    def origin(self) -> states.Origin:
        """Reason for which a draft was made."""
        if self.is_for_creates:
            return states.Origin.CREATE
        if self.excluded_nodes is not None:
            return states.Origin.REPLACEMENT
        return states.Origin.REQUEST

    @property
    def is_requested(self) -> bool:
        """True if a tenant, not a planner, has made a draft."""
        return self.origin == states.Origin.REQUEST

    def create(self, context: RequestContext) -> None:
        """Insert the group with all its parts, in state PLANNING.

        :raises: DBDuplicateEntry when the project has used its client_token
        """
        self.uuid = listing.new_id()
        self.status = states.Group.PLANNING
        self.generation = self.definition_generation = 1
        row = self.to_row()
        is_draft = 'revises_id' in self and self.revises_id is not None
        owner = self.get_row(context, self.revises_id) if is_draft else self
        row.subgroups = [
            models.Subgroup(path=path, uuid=subgroup_id(owner.uuid, path))
            for path in self.subgroups
        ]
        row.member_sets = [each.to_row() for each in self.member_sets]
        row.members = [member.to_row() for member in self.members]
        for relationship in self.relationships:
            policies = [each.to_row() for each in relationship.policies]
            related = relationship.to_row()
            related.policies = policies
            row.relationships.append(related)
            row.policies.extend(policies)
        row.policies.extend(policy.to_row() for policy in self.policies)
        stored = self.get(context, db.create(context, row).uuid)
        for name in self.fields:
            setattr(self, name, getattr(stored, name))
        self.obj_reset_changes()

    @classmethod
    def _from_row(
        cls,
        context: RequestContext,
        row: models.Group,
        deferred: Sequence[Attribute] = (),
    ) -> Self:
        unread = [column.key for column in deferred]
        member_sets = {
            each.path: VRTMemberSet.from_row(context, each, unread)
            for each in row.member_sets
        }
        by_relationship = {}
        for policy in row.policies:
            by_relationship.setdefault(policy.relationship_id, []).append(
                VRTPolicy.from_row(context, policy)
            )
        return cls.from_row(
            context,
            row,
            subgroups=[subgroup.path for subgroup in row.subgroups],
            member_sets=[*member_sets.values()],
            members=[
                _member(context, member, member_sets) for member in row.members
            ],
            policies=by_relationship.get(None, []),
            relationships=[
                VRTRelationship.from_row(
                    context, each, policies=by_relationship.get(each.id, [])
                )
                for each in row.relationships
            ],
        )

    @classmethod
    def get(cls, context: RequestContext, uuid: str) -> Self:
        """Return a group in any state, including RELEASING.

        :raises: GroupNotFound
        """
        group = cls.find(context, uuid)
        if group is None:
            raise exception.GroupNotFound(group=uuid)
        return group

    @classmethod
    def get_by_id(cls, context: RequestContext, group_id: int) -> Self:
        """Return a group as get() does.

        :raises: GroupNotFound
        """
        group = cls._find(context, models.Group.id == group_id)
        if group is None:
            raise exception.GroupNotFound(group=group_id)
        return group

    @classmethod
    def find(cls, context: RequestContext, uuid: str) -> Self | None:
        """Return a group as get() does, or None.

        Some databases reject a query for a string that is no uuid.
        """
        if not uuidutils.is_uuid_like(uuid):
            return None
        return cls._find(context, models.Group.uuid == uuid)

    @classmethod
    def find_by_token(
        cls, context: RequestContext, project_id: str, client_token: str
    ) -> Self | None:
        """Return the group created with a client token, or None."""
        return cls._find(
            context,
            models.Group.project_id == project_id,
            models.Group.client_token == client_token,
        )

    @classmethod
    def _find(
        cls, context: RequestContext, *conditions: Condition
    ) -> Self | None:
        row = db.find_one(context, models.Group, *conditions, load=PARTS)
        return cls._from_row(context, row) if row else None

    @classmethod
    def _list(
        cls,
        context: RequestContext,
        *conditions: Condition,
        deferred: Sequence[Attribute] = (),
    ) -> list[Self]:
        rows = db.find(
            context, models.Group, *conditions, load=PARTS, deferred=deferred
        )
        return [cls._from_row(context, row, deferred) for row in rows]

    def has_policy(self, kind: str) -> bool:
        """Check whether a node or relationship has a policy of a kind."""
        return kind in self.policy_types

    @property
    def policy_types(self) -> set[str]:
        """Names of the types of all policies, a set."""
        return {
            policy.type
            for part in (self, *self.relationships)
            for policy in part.policies
        }

    @property
    def server_uuids(self) -> list[str]:
        """Uuids of the servers that its members have, or are getting."""
        return [
            member.server_uuid
            for member in self.members
            if member.status in states.MEMBER_HAS_SERVER
        ]

    @property
    def is_exclusive(self) -> bool:
        """True if the group has an exclusive policy."""
        return not self.policy_types.isdisjoint(registry.exclusive_types())


def subgroup_id(group_uuid: str, path: Path) -> str:
    """Return the id of a subgroup, the same in all its definitions."""
    return str(uuid.uuid5(uuid.UUID(group_uuid), path))


def _member(
    context: RequestContext,
    row: models.Member,
    member_sets: dict[Path, VRTMemberSet],
) -> VRTMember:
    """Return a member with its member set.

    A revision may have been committed between the queries for both.
    """
    described = member_sets.get(row.member_set)
    values = {} if described is None else {'described': described}
    return VRTMember.from_row(context, row, **values)
