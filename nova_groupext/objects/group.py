# SPDX-License-Identifier: Apache-2.0
"""A VRT group: the root of a topology and the owner of its parts."""

from collections.abc import Sequence
from typing import Any
from typing import NoReturn
from typing import Self

from nova.context import RequestContext
from oslo_utils import uuidutils
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.db.aliases import Attribute
from nova_groupext.db.aliases import Condition
from nova_groupext.db.aliases import Values
from nova_groupext.objects import base
from nova_groupext.objects import group_queries
from nova_groupext.objects import listing
from nova_groupext.objects import member as member_obj
from nova_groupext.objects import policy as policy_obj
from nova_groupext.objects import sql_conditions
from nova_groupext.objects import states
from nova_groupext.objects import work_queries
from nova_groupext.solver.policies import registry

PARTS = (
    models.Group.subgroups,
    models.Group.members,
    models.Group.policies,
    models.Group.relationships,
)


@ovo.VersionedObjectRegistry.register
class VRTGroup(
    group_queries.GroupQueries, work_queries.WorkQueries, base.VRTObject
):
    VERSION = '1.0'

    fields = {
        'id': fields.IntegerField(),
        'uuid': fields.UUIDField(),
        'project_id': fields.StringField(),
        'user_id': fields.StringField(),
        'name': fields.StringField(),
        'description': fields.StringField(nullable=True),
        'status': fields.EnumField(list(states.Group)),
        'fault': fields.StringField(nullable=True),
        'fault_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
        'generation': fields.IntegerField(),
        'hold_when_planned': fields.BooleanField(),
        'client_token': fields.StringField(nullable=True),
        # Digest of the request that came with the token
        'request_digest': fields.StringField(nullable=True),
        'expires_in': fields.IntegerField(),
        'expires_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
        # By the database's clock, at the time of reading
        'has_expired': fields.BooleanField(),
        'created_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
        'updated_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
        # Id of the group whose next definition this draft is
        'revises_id': fields.IntegerField(nullable=True),
        # Paths of held members that the draft may move; None for all
        'movable_paths': base.JsonField(nullable=True),
        # True if the draft may drop members with servers
        'keep_server': fields.BooleanField(default=False),
        # True if the draft takes effect as soon as its swap is made
        'is_prepared': fields.BooleanField(default=False),
        # {path: [node, ...]}: the draft only places these members again, on
        # other nodes than these; None for any other revision
        'excluded_hosts': base.JsonField(nullable=True),
        # [{at, policy}] of strict policies that the servers' hosts violate
        'drift': base.JsonField(nullable=True),
        # The parts, in the order of the description
        'subgroups': fields.ListOfStringsField(),
        'members': fields.ListOfObjectsField('VRTMember'),
        'policies': fields.ListOfObjectsField('VRTPolicy'),
        'relationships': fields.ListOfObjectsField('VRTRelationship'),
    }

    def create(self, context: RequestContext) -> None:
        """Insert the group with all its parts, in state PLANNING.

        :raises: DBDuplicateEntry when the project has used its client_token
        """
        self.uuid = listing.new_id()
        self.status = states.Group.PLANNING
        self.generation = 1
        row = models.Group(**self.column_values(models.Group))
        row.subgroups = [models.Subgroup(path=p) for p in self.subgroups]
        row.members = [
            models.Member(**each.column_values(models.Member))
            for each in self.members
        ]
        row.relationships = [
            self._relationship_row(row, each) for each in self.relationships
        ]
        row.policies.extend(
            models.Policy(**each.column_values(models.Policy))
            for each in self.policies
        )
        self._load(context, db.create(context, row).uuid)

    @staticmethod
    def _relationship_row(
        group_row: models.Group, relationship: policy_obj.VRTRelationship
    ) -> models.Relationship:
        row = models.Relationship(
            **relationship.column_values(models.Relationship)
        )
        row.policies = [
            models.Policy(**each.column_values(models.Policy))
            for each in relationship.policies
        ]
        group_row.policies.extend(row.policies)
        return row

    def _load(self, context: RequestContext, uuid: str) -> None:
        stored = self.get(context, uuid)
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
        by_relationship = {}
        for policy in row.policies:
            by_relationship.setdefault(policy.relationship_id, []).append(
                policy_obj.VRTPolicy.from_row(context, policy)
            )
        return cls.from_row(
            context,
            row,
            subgroups=[subgroup.path for subgroup in row.subgroups],
            members=[
                member_obj.VRTMember.from_row(
                    context, member, unread=[column.key for column in deferred]
                )
                for member in row.members
            ],
            policies=by_relationship.get(None, []),
            relationships=[
                policy_obj.VRTRelationship.from_row(
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
    def find(cls, context: RequestContext, uuid: str) -> Self | None:
        """Return a group as get() does, or None.

        Some databases reject a query for a string that is no uuid.
        """
        if not uuidutils.is_uuid_like(uuid):
            return None
        row = db.find_one(
            context, models.Group, models.Group.uuid == uuid, load=PARTS
        )
        return cls._from_row(context, row) if row else None

    @classmethod
    def find_by_token(
        cls, context: RequestContext, project_id: str, client_token: str
    ) -> Self | None:
        """Return the group created with a client token, or None."""
        row = db.find_one(
            context,
            models.Group,
            models.Group.project_id == project_id,
            models.Group.client_token == client_token,
            load=PARTS,
        )
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
    def is_exclusive(self) -> bool:
        """True if the group has an exclusive policy."""
        return not self.policy_types.isdisjoint(registry.exclusive_types())

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
        return db.compare_and_set(
            context,
            models.Group,
            models.Group.id == self.id,
            models.Group.generation == self.generation,
            generation=self.generation + 1,
            **values,
        )

    def update_description(
        self, context: RequestContext, values: Values
    ) -> None:
        """Update descriptive columns, unless the group has changed since.

        :param values: values of columns that no plan depends on
        :raises: GenerationConflict
        """
        if not self._compare_and_set(context, **values):
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
            (
                models.Group,
                (
                    models.Group.id == self.id,
                    is_not_deleted,
                    *sql_conditions.has_generation(generation),
                ),
                deleted,
                1,
            ),
            (
                models.Group,
                (models.Group.revises_id == self.id, is_not_deleted),
                deleted,
                None,
            ),
        ):
            row = self.find_row(context, self.id)
            if row is None or row.status == states.Group.RELEASING:
                raise exception.GroupNotFound(group=self.uuid)
            raise exception.GenerationConflict(group=self.uuid)
        self.status = states.Group.RELEASING

    def store_fault(self, context: RequestContext, fault: str) -> None:
        """Store why a group is still PLANNING; its generation stays."""
        db.compare_and_set(
            context,
            models.Group,
            models.Group.id == self.id,
            models.Group.status == states.Group.PLANNING,
            fault=fault,
        )

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
        if not db.compare_and_set(
            context,
            models.Group,
            models.Group.id == self.id,
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
        if generation not in (None, current.generation):
            raise exception.GenerationConflict(group=self.uuid)
        current.check_unexpired()
        reason = 'it has no held members'
        if current.has_expired:
            reason += f'; it {member_obj.expiry_text(current.expires_at)}'
        raise current.conflict(reason)

    def check_unexpired(self) -> None:
        """Refuse to change a HELD group whose holds have expired.

        :raises: GroupStateConflict
        """
        if self.status == states.Group.HELD and self.has_expired:
            raise self.conflict(
                f'it {member_obj.expiry_text(self.expires_at)}; its holds are '
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
