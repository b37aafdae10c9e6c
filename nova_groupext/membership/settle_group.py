# SPDX-License-Identifier: Apache-2.0
"""Names and numbers of a stored group's members, after servers have changed.

One transaction with the group's row lock:

1. Members that were reserved for a server that does not come are free again;
   such successors end.
2. The rules of settling.py: successors become members, what is missing is
   described, what is beyond the limit ends.
3. Held members beyond the count end: nobody is waiting for them.

Members that end go, with their holds, to a draft that is deleted: the reaper
empties the holds first.
"""

import collections
from collections.abc import Sequence

from nova.context import RequestContext
from oslo_utils import uuidutils
import sqlalchemy as sa

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.membership import settling
from nova_groupext.membership import stored
from nova_groupext.membership.roster import Roster
from nova_groupext.objects import definitions
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.aliases import JsonObject
from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.member_set import VRTMemberSet
from nova_groupext.objects.member_set import are_alike
from nova_groupext.objects.plan import VRTPlan


def keeps_no_hold(context: RequestContext, member: VRTMember) -> bool:
    """Check whether nothing is held any more when a member's server goes.

    More members than described have a place, a successor follows, or the
    server was as the member was described before.

    :param member: one that has a place
    """
    if member.server_request is not None:
        return True
    # Counted by the database: a round may ask this for each server of a
    # large group.
    is_own = models.Member.group_id == member.group_id
    has_successors = models.Member.succeeds.is_not(None)
    if db.count(context, models.Member, is_own, has_successors):
        roster = stored.read(VRTGroup.get_by_id(context, member.group_id))
        own = [each for each in roster.members if each.row == member.id]
        if any(
            each.is_successor or settling.has_follower(roster, each)
            for each in own
        ):
            return True
    placed = db.count(
        context,
        models.Member,
        is_own,
        models.Member.member_set == member.member_set,
        models.Member.status.in_(states.MEMBER_PLACED),
        ~has_successors,
    )
    # Read afterwards: what a revision has described since then is placed, too.
    described = VRTMemberSet.find_row(
        context,
        models.MemberSet.group_id == member.group_id,
        models.MemberSet.path == member.member_set,
    )
    return described is None or placed > described.wanted


def settle(context: RequestContext, group_id: int) -> None:
    """Bring the members of a group in line with its servers.

    While a planner changes its holds nothing happens: the next round of the
    reaper is early enough.

    :param group_id: of a group that is no draft
    """

    def work() -> bool:
        if not _is_being_changed(context, group_id):
            has_changed = _end_reservations(context, group_id)
            group = VRTGroup.get_by_id(context, group_id)
            roster = stored.read(group)
            _end_holds_described_before(group, roster)
            settling.settle(roster)
            _end_holds_beyond_count(roster)
            if _store(context, group, roster) or has_changed:
                transitions.derive_status(context, group_id)
        return True

    db.with_row_lock(context, models.Group, work, id=group_id)


def list_groups(context: RequestContext) -> list[int]:
    """Return the ids of groups that may have something to settle."""
    candidates = _candidates()
    wanted = {
        (each.group_id, each.path): each.wanted
        for each in VRTMemberSet.list_rows(
            context, models.MemberSet.group_id.in_(candidates)
        )
    }
    numbers = collections.Counter()
    found = set()
    for group_id, member_set, reserved_for, succeeds in db.find_columns(
        context,
        (
            *(models.Member.group_id, models.Member.member_set),
            *(models.Member.reserved_for, models.Member.succeeds),
        ),
        models.Member,
        models.Member.group_id.in_(candidates),
    ):
        numbers[group_id, member_set] += 1
        if reserved_for is not None or succeeds is not None:
            found.add(group_id)
    found |= {
        key[0]
        for key, number in numbers.items()
        if number > wanted.get(key, number)
    }
    return sorted(found)


def _candidates() -> sa.Select:
    """Return the query for the ids of groups with a member to settle."""
    return (
        sa.select(models.Member.group_id)
        .where(
            models.Group.id == models.Member.group_id,
            models.Group.revises_id.is_(None),
            models.Group.status.in_(states.GROUP_REPLACEABLE),
            models.Member.status.in_(states.MEMBER_NEEDS_HOST)
            | models.Member.reserved_for.is_not(None)
            | models.Member.succeeds.is_not(None),
        )
        .correlate(None)
    )


def _is_being_changed(context: RequestContext, group_id: int) -> bool:
    return bool(
        VRTHold.list_open(context, group_id)
        or db.count(
            context,
            models.Group,
            models.Group.revises_id == group_id,
            models.Group.status == states.Group.PLANNING,
        )
    )


def _end_reservations(context: RequestContext, group_id: int) -> bool:
    """Free the members that are reserved for servers that do not come.

    :returns: whether there were any
    """
    creates = VRTCreate.list_unended(context, group_id)
    awaited = [uuid for each in creates for uuid in each.server_uuids]
    return bool(
        VRTMember.update_rows(
            context,
            models.Member.group_id == group_id,
            models.Member.reserved_for.is_not(None),
            models.Member.reserved_for.not_in(awaited),
            reserved_for=None,
        )
    )


def _end_holds_described_before(group: VRTGroup, roster: Roster) -> None:
    """End holds for servers of a former description that do not come."""
    ended = {
        member.id
        for member in group.members
        if member.status == states.Member.HELD
        and member.server_request is not None
        and member.reserved_for is None
    }
    roster.remove([each for each in roster.members if each.row in ended])


def _end_holds_beyond_count(roster: Roster) -> None:
    for path in roster.member_sets:
        settling.remove_holds(roster, path, roster.number_beyond_count(path))


def _store(context: RequestContext, group: VRTGroup, roster: Roster) -> bool:
    """Store the members as a roster has them; return whether any differ."""
    kept = {each.row: each for each in roster.members if each.row is not None}
    dropped = [m.id for m in group.members if m.id not in kept]
    _drop(context, group, dropped)
    new_paths = {}
    described = {each.path: each for each in group.member_sets}
    for member in group.members:
        settled = kept.get(member.id)
        if settled is None:
            continue
        values = {
            'path': stored.path_of(settled),
            'member_set': settled.member_set,
            'succeeds': settled.succeeds,
            'server_request': _pending_request(
                member, described[settled.member_set]
            ),
        }
        if any(getattr(member, name) != values[name] for name in values):
            new_paths[member.path] = values['path']
            member.update_row(context, **values)
    missing = [each for each in roster.members if each.row is None]
    for member in missing:
        new = VRTMember.tentative(
            member.path, described[member.member_set]
        ).to_row()
        new.group_id = group.id
        db.create_all(context, [new])
    _delete_sets(context, group, roster)
    plan = new_paths and VRTPlan.find_newest(context, group.id)
    if plan:
        plan.rename(context, new_paths)
    return bool(dropped or new_paths or missing)


def _pending_request(
    member: VRTMember, described: VRTMemberSet
) -> JsonObject | None:
    """Return a server's own request, unless its member set describes it."""
    request = member.server_request
    if request and are_alike(request, described.resolved_request):
        return None
    return request


def _delete_sets(
    context: RequestContext, group: VRTGroup, roster: Roster
) -> None:
    """Delete member sets that were left out, and whose servers are gone."""
    in_use = {each.member_set for each in roster.members}
    ended = [
        each.id
        for each in group.member_sets
        if each.is_left_out and each.path not in in_use
    ]
    if ended:
        db.delete(context, models.MemberSet, models.MemberSet.id.in_(ended))


def _drop(
    context: RequestContext, group: VRTGroup, ids: Sequence[int]
) -> None:
    """Move members with their holds to a draft that is deleted."""
    if not ids:
        return
    is_held = models.Hold.member_id.in_(ids)
    VRTHold.update_rows(
        context,
        is_held,
        models.Hold.status == states.Hold.HELD,
        status=states.Hold.RELEASING,
    )
    deleted_draft = models.Group(
        uuid=uuidutils.generate_uuid(),
        **{
            name: getattr(group, name)
            for name in ('project_id', 'user_id', 'name', 'expires_in')
        },
        status=states.Group.RELEASING,
        hold_when_planned=True,
        revises_id=group.id,
    )
    [deleted_draft] = db.create_all(context, [deleted_draft])
    for model, column in definitions.OF_MEMBERS:
        definitions.assign_to_group(context, model, ids, deleted_draft, column)
