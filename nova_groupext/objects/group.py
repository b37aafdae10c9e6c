# SPDX-License-Identifier: Apache-2.0
"""A VRT group: the top of a topology and the owner of all its parts."""

import datetime

from oslo_utils import timeutils
from oslo_utils import uuidutils
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import base
from nova_groupext.objects import hold as hold_obj
from nova_groupext.objects import member as member_obj
from nova_groupext.objects import policy as policy_obj
from nova_groupext.objects import states

PARTS = (
    models.Group.subgroups,
    models.Group.members,
    models.Group.policies,
    models.Group.relationships,
)


@ovo.VersionedObjectRegistry.register
class VRTGroup(base.VRTObject):
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
        'generation': fields.IntegerField(),
        'hold': fields.BooleanField(),
        'client_token': fields.StringField(nullable=True),
        'expires_in': fields.IntegerField(),
        'expires_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
        'created_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
        'updated_at': fields.DateTimeField(nullable=True, tzinfo_aware=False),
        # The parts, in the order in which they were described.
        'subgroups': fields.ListOfStringsField(),
        'members': fields.ListOfObjectsField('VRTMember'),
        'policies': fields.ListOfObjectsField('VRTPolicy'),
        'relationships': fields.ListOfObjectsField('VRTRelationship'),
    }

    def create(self, context):
        """Store the group with all its parts, in state PLANNING.

        :raises: DBDuplicateEntry when the project used its client_token
        """
        self.uuid = uuidutils.generate_uuid()
        self.status = states.Group.PLANNING
        self.generation = 1
        row = models.Group(**self.columns(models.Group))
        row.subgroups = [models.Subgroup(path=p) for p in self.subgroups]
        row.members = [
            models.Member(**each.columns(models.Member))
            for each in self.members
        ]
        row.relationships = [
            self._relationship_row(row, each) for each in self.relationships
        ]
        row.policies.extend(
            models.Policy(**each.columns(models.Policy))
            for each in self.policies
        )
        self._load(context, db.create(context, row).uuid)

    @staticmethod
    def _relationship_row(group_row, relationship):
        row = models.Relationship(**relationship.columns(models.Relationship))
        row.policies = [
            models.Policy(**each.columns(models.Policy))
            for each in relationship.policies
        ]
        group_row.policies.extend(row.policies)
        return row

    def _load(self, context, uuid):
        fresh = self.get(context, uuid)
        for name in self.fields:
            setattr(self, name, getattr(fresh, name))
        self.obj_reset_changes()

    @classmethod
    def _from_row(cls, context, row):
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
                member_obj.VRTMember.from_row(context, member)
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
    def get(cls, context, uuid):
        """Return a group in any state, deleted ones that still release too.

        :raises: GroupNotFound
        """
        group = cls.find(context, uuid)
        if group is None:
            raise exception.GroupNotFound(group=uuid)
        return group

    @classmethod
    def find(cls, context, uuid):
        """Return a group as get() does, or None.

        What is no uuid is not looked up: not every database can.
        """
        if not uuidutils.is_uuid_like(uuid):
            return None
        row = db.find_one(
            context, models.Group, models.Group.uuid == uuid, load=PARTS
        )
        return cls._from_row(context, row) if row else None

    @classmethod
    def brief(cls, context, group_id):
        """Return a group without its parts, or None."""
        row = db.find_one(context, models.Group, models.Group.id == group_id)
        return cls.from_row(context, row) if row else None

    @classmethod
    def get_by_token(cls, context, project_id, client_token):
        """Return the group that a retried POST has made, or None."""
        row = db.find_one(
            context,
            models.Group,
            models.Group.project_id == project_id,
            models.Group.client_token == client_token,
            load=PARTS,
        )
        return cls._from_row(context, row) if row else None

    @classmethod
    def list(
        cls,
        context,
        *,
        project_id=None,
        name=None,
        status=None,
        marker=None,
        limit=None,
        with_parts=True,
    ):
        """Return groups that were not deleted, oldest first.

        :param marker: uuid of the last group of the page before
        :param with_parts: whether their topologies are wanted
        :raises: GroupNotFound for a marker that is none
        """
        conditions = [models.Group.status != states.Group.RELEASING]
        for column, value in (
            (models.Group.project_id, project_id),
            (models.Group.name, name),
            (models.Group.status, status),
        ):
            if value is not None:
                conditions.append(column == value)
        if marker is not None:
            conditions.append(models.Group.id > cls.get(context, marker).id)
        if with_parts:
            return cls._find(context, *conditions, limit=limit)
        rows = db.find(context, models.Group, *conditions, limit=limit)
        return [cls.from_row(context, row) for row in rows]

    @classmethod
    def list_expired(cls, context, now):
        """Return the groups that still hold something and should not."""
        return cls._find(
            context,
            models.Group.status.in_(states.HOLDS),
            models.Group.expires_at <= now,
            cls._has_member(states.Member.HELD),
        )

    @classmethod
    def list_exclusive(cls, context):
        """Return the groups that have, or should have, hosts to themselves.

        Some of them have a soft policy only, or nothing but fillers to lose.
        """
        has_fillers = sa.exists().where(
            models.Hold.group_id == models.Group.id,
            models.Hold.member_id.is_(None),
            models.Hold.status == states.Hold.HELD,
        )
        holds = models.Group.status.in_(states.HOLDS)
        return cls._find(
            context, has_fillers | (holds & cls._with_policy('exclusive'))
        )

    @classmethod
    def find_exclusive(cls, context, uuid):
        """Return a group with a policy `exclusive` that counts now, or None.

        For all other groups it is one small query.
        """
        groups = cls._find(
            context,
            models.Group.uuid == uuid,
            models.Group.status.in_(states.HOLDS),
            cls._with_policy('exclusive'),
        )
        return groups[0] if groups else None

    @classmethod
    def list_releasing(cls, context):
        """Return groups that were deleted and are not forgotten yet."""
        return cls._find(
            context, models.Group.status == states.Group.RELEASING
        )

    @classmethod
    def list_abandoned(cls, context, before):
        """Return the groups in PLANNING that no planner works on.

        :param before: only those that have been waiting since then
        """
        return cls._find(
            context,
            models.Group.status == states.Group.PLANNING,
            sa.func.coalesce(models.Group.updated_at, models.Group.created_at)
            < before,
            ~sa.exists().where(
                models.Intent.group_id == models.Group.id,
                models.Intent.lease_ends_at >= timeutils.utcnow(),
            ),
        )

    @classmethod
    def _find(cls, context, *conditions, limit=None):
        rows = db.find(
            context, models.Group, *conditions, load=PARTS, limit=limit
        )
        return [cls._from_row(context, row) for row in rows]

    @staticmethod
    def _has_member(*statuses):
        return sa.exists().where(
            models.Member.group_id == models.Group.id,
            models.Member.status.in_(statuses),
        )

    @staticmethod
    def _with_policy(kind):
        return sa.exists().where(
            models.Policy.group_id == models.Group.id,
            models.Policy.type == kind,
        )

    @staticmethod
    def is_current(context, group_id):
        """Tell whether a group holds something and may go on doing so."""
        return bool(
            db.count(
                context,
                models.Group,
                models.Group.id == group_id,
                models.Group.status.in_(states.HOLDS),
                models.Group.expires_at > timeutils.utcnow(),
            )
        )

    @staticmethod
    def uuids(context):
        """Return {id: uuid} of all groups, in whatever state."""
        return {row.id: row.uuid for row in db.find(context, models.Group)}

    @staticmethod
    def count(context, project_id):
        """Return how many groups a project keeps."""
        return db.count(
            context,
            models.Group,
            models.Group.project_id == project_id,
            models.Group.status != states.Group.RELEASING,
        )

    def has_policy(self, kind):
        """Tell whether any part of the group, or relationship, has one."""
        return any(
            policy.type == kind
            for part in (self, *self.relationships)
            for policy in part.policies
        )

    def change(self, context, status, **values):
        """Move to a status, if nobody changed the group since it was read.

        :raises: GenerationConflict
        """
        moved = self.status in states.sources(
            states.GROUP_CHANGES, status
        ) and db.compare_and_set(
            context,
            models.Group,
            models.Group.id == self.id,
            models.Group.generation == self.generation,
            status=status,
            generation=self.generation + 1,
            **values,
        )
        if not moved:
            raise exception.GenerationConflict(group=self.uuid)
        self.status = status
        self.generation += 1
        for name, value in values.items():
            setattr(self, name, value)

    def hold_members(self, context, holds, expires_at):
        """Become HELD together with members and the holds written for them.

        One transaction: nobody ever sees a held member of a group that is
        not held, or without its hold, or the other way round.

        :param holds: VRTHold rows in state WRITING; fillers are among them
        :raises: GenerationConflict
        """
        ids = [each.member_id for each in holds if not each.is_filler]
        done = db.compare_and_set_all(
            context,
            (
                models.Group,
                (
                    models.Group.id == self.id,
                    models.Group.status == states.Group.PLANNING,
                    models.Group.generation == self.generation,
                ),
                {
                    'status': states.Group.HELD,
                    'generation': self.generation + 1,
                    'expires_at': expires_at,
                },
                1,
            ),
            (
                models.Member,
                (
                    models.Member.id.in_(ids),
                    models.Member.status == states.Member.TENTATIVE,
                ),
                {'status': states.Member.HELD},
                len(ids),
            ),
            (
                models.Hold,
                (
                    models.Hold.id.in_([each.id for each in holds]),
                    models.Hold.status == states.Hold.WRITING,
                ),
                hold_obj.PROMISED,
                len(holds),
            ),
        )
        if not done:
            raise exception.GenerationConflict(group=self.uuid)
        self.status = states.Group.HELD
        self.generation += 1
        self.expires_at = expires_at

    def promise(self, context, fillers):
        """Promise fillers to the group, while anything of it is held.

        The group's row is locked, and stays as it is.

        :param fillers: VRTHold rows in state WRITING
        :returns: whether that was done
        """
        group = models.Group
        return db.compare_and_set_all(
            context,
            (
                group,
                (group.id == self.id, group.status.in_(states.HOLDS)),
                {'updated_at': group.updated_at},
                1,
            ),
            (
                models.Hold,
                (
                    models.Hold.id.in_([each.id for each in fillers]),
                    models.Hold.status == states.Hold.WRITING,
                ),
                hold_obj.PROMISED,
                len(fillers),
            ),
        )

    @staticmethod
    def settle(context, group_id):
        """Count that a member changed; let the members decide the status.

        A group of which nothing is held or being redeemed any more is ACTIVE
        when at least one member is a server, else RELEASED.
        """
        db.compare_and_set(
            context, models.Group, *_still(group_id), **_settled()
        )

    @staticmethod
    def settle_all(context):
        """Settle the groups that somebody changed who died before he did."""
        settled = _settled()
        db.compare_and_set(
            context,
            models.Group,
            models.Group.status.in_(states.HOLDS),
            models.Group.status != settled['status'],
            **settled,
        )

    def give_up(self, context, members=None):
        """Mark members as released: from now on a late create is refused.

        :param members: VRTMembers of the group that are no servers, all of
            them or none; by default all that are none and do not become one
            at this moment
        :returns: whether anything was held of them
        :raises: MemberStateConflict when a named member becomes a server at
            this moment
        """
        wanted = self.members if members is None else members
        ids = [each.id for each in wanted if each.status in states.GIVES_UP]
        counts = db.compare_and_set_all(
            context,
            *_given_up(
                ids, states.GIVES_UP, None if members is None else len(ids)
            ),
        )
        if counts is None:
            raise exception.MemberStateConflict(
                member=', '.join(each.path for each in members),
                status='changing',
                reason='a server is being created; nothing was released',
            )
        rows = db.find(context, models.Member, models.Member.id.in_(ids))
        statuses = {row.id: row.status for row in rows}
        for member in wanted:
            member.status = statuses.get(member.id, member.status)
        self.settle(context, self.id)
        _members, holds = counts
        return holds > 0

    def expire(self, context):
        """Release what is held when the group's time is over.

        One transaction, and it changes the group's row first, which extend()
        changes too: the group is extended as a whole or expires as a whole.

        :returns: whether anything was released; nothing is when the group
            was extended in time, or another has done it
        """
        now = timeutils.utcnow()
        expired = member_obj.expired(self.expires_at)
        counts = db.compare_and_set_all(
            context,
            (
                models.Group,
                (*_still(self.id), models.Group.expires_at <= now),
                {'generation': models.Group.generation + 1},
                1,
            ),
            *_given_up(
                [member.id for member in self.members],
                [states.Member.HELD],
                fault=f'its group {expired}',
            ),
            (models.Group, _still(self.id), _settled(), 1),
        )
        if counts is None:
            return False
        _group, members, _holds, _group = counts
        return members > 0

    def extend(self, context, seconds):
        """Keep what is held for so many seconds from now.

        :raises: GroupStateConflict when there is nothing to keep
        """
        now = timeutils.utcnow()
        if not db.compare_and_set(
            context,
            models.Group,
            models.Group.id == self.id,
            models.Group.status == states.Group.HELD,
            models.Group.expires_at > now,
            expires_at=now + datetime.timedelta(seconds=seconds),
            generation=models.Group.generation + 1,
        ):
            raise self._not_extended(context)

    def _not_extended(self, context):
        fresh = self.get(context, self.uuid)
        reason = 'nothing of it is held'
        if fresh.status == states.Group.HELD:
            reason = f'it {member_obj.expired(fresh.expires_at)}'
        return exception.GroupStateConflict(
            group=self.uuid, status=fresh.status, reason=reason
        )

    def destroy(self, context):
        """Forget the group; its holds must be gone from the ledger."""
        db.delete(context, models.Group, models.Group.id == self.id)


def _still(group_id):
    """The conditions on a group of which something may be held."""
    return (
        models.Group.id == group_id,
        models.Group.status.in_(states.HOLDS),
    )


def _given_up(ids, statuses, expected=None, **values):
    """Return the changes that release members and let their holds leave.

    :param ids: of members, of which those change that are in these statuses
    :param expected: how many these have to be; None for any number
    :param values: what else of the members changes
    """
    released = sa.select(models.Member.id).where(
        models.Member.id.in_(ids),
        models.Member.status == states.Member.RELEASED,
    )
    return (
        (
            models.Member,
            (
                models.Member.id.in_(ids),
                models.Member.status.in_(statuses),
            ),
            {'status': states.Member.RELEASED, **values},
            expected,
        ),
        (
            models.Hold,
            (
                models.Hold.status == states.Hold.HELD,
                models.Hold.member_id.in_(released),
            ),
            {'status': states.Hold.LEAVING},
            None,
        ),
    )


def _settled():
    """The values of a group whose members have changed."""
    pending = VRTGroup._has_member(states.Member.HELD, states.Member.REDEEMING)
    servers = VRTGroup._has_member(states.Member.ACTIVE)
    return {
        'status': sa.case(
            (pending, states.Group.HELD.value),
            (servers, states.Group.ACTIVE.value),
            else_=states.Group.RELEASED.value,
        ),
        'generation': models.Group.generation + 1,
    }
