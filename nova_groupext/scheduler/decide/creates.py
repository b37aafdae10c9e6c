# SPDX-License-Identifier: Apache-2.0
"""Hosts for servers whose creates wait: the members that they become.

All open creates of a group are decided together:

1. Follow the group's servers: members of deleted ones are free again, or
   their successors take their places.
2. Choose a member for each server, oldest create first, by the rules of
   membership/creates.py. A create that these refuse is refused; it stays open
   if they refuse it only beside older ones, which may get no hosts.
3. If all its members are held, reserve them for its servers.
4. Store the others as a draft of the group: its definition, and the members
   that are to be placed. Decide it as a revision that moves no other hold, or
   as few as possible. Its commit reserves the members.
5. If it is refused, decide the older half of its creates, then the others. A
   single create is refused with the reason.

==========  ===================================  ============================
crash       left behind                          finished by
==========  ===================================  ============================
before 4    open creates                         the next owner of the lease:
                                                 it decides them anew
in 4        a draft; perhaps a prepared swap     the same, after it finished
                                                 the swap or deleted the draft
==========  ===================================  ============================

A create that is not open any more holds nothing: its scheduler has given up.
"""

from collections.abc import Mapping
import contextlib
import dataclasses

from nova_groupext import exception
from nova_groupext.membership import creates
from nova_groupext.membership import settle_group
from nova_groupext.membership import stored
from nova_groupext.membership.roster import Member
from nova_groupext.membership.roster import Roster
from nova_groupext.objects import create_reservations
from nova_groupext.objects import renames
from nova_groupext.objects import states
from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member_set import Matching
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.decide import create_draft
from nova_groupext.scheduler.follow import server_changes
from nova_groupext.scheduler.protocol import leases

Obstacle = creates.Obstacle

# Why creates that the definition does not allow get no members
OBSTACLES = {
    Obstacle.UNKNOWN: 'the group has no such member',
    Obstacle.ONE_MEMBER: 'one member is one server',
    Obstacle.MISMATCH: 'the group describes another server',
    Obstacle.CHANGING: 'a server is being deleted, or has a successor; retry',
    Obstacle.HAS_SERVER: 'it already has a server',
    Obstacle.RELEASED: 'its owner has released it; replan the group',
    Obstacle.BEYOND_LIMIT: 'the definition allows no more servers',
}
UNDECIDED = 'no plan was found in time; retry later'


def place_open(context, placement_client, lease, group, decide_draft):
    """Place the members for the open creates of a group once.

    A create stays open if the group was changed meanwhile.

    :param group: VRTGroup, perhaps without its parts
    :param decide_draft: decides a draft; called with the group, its lease and
        the draft
    :raises: GroupNotFound, PlacementUnavailable when a swap is unfinished
    """
    server_changes.follow_servers(
        context, placement_client, leases.OwnLease(lease), group
    )
    if VRTHold.list_open(context, group.id):
        raise exception.PlacementUnavailable(
            reason='the capacity of a server is being taken back'
        )
    settle_group.settle(context, group.id)
    group = VRTGroup.get_by_id(context, group.id)
    waiting = VRTCreate.list_open(context, group.id)
    chosen = _choose(context, group, waiting)
    chosen = _reserve_held(context, lease, group, chosen)
    if chosen:
        _place(context, lease, group.id, chosen, decide_draft)


def is_abandoned(draft):
    """Check whether a draft for creates was left by a planner that has died.

    Its creates are decided anew, unless they were given up.
    """
    return draft.is_for_creates and draft.status == states.Group.PLANNING


def _place(context, lease, group_id, chosen, decide_draft):
    """Place the members of creates; if refused, first of the older half."""
    group = VRTGroup.get_by_id(context, group_id)
    draft = create_draft.store(context, group, chosen)
    if draft is None:
        return
    decide_draft(group, lease, draft)
    decided = VRTGroup.find(context, draft.uuid)
    if decided is None or decided.status == states.Group.RELEASING:
        return
    if decided.status == states.Group.PLANNING:
        # The group was changed meanwhile.
        decided.mark_deleted(context)
    elif chosen[1:]:
        half = len(chosen) // 2
        for part in (chosen[:half], chosen[half:]):
            still_open = _still_open(context, group_id, part)
            if still_open:
                _place(context, lease, group_id, still_open, decide_draft)
    else:
        _refuse(context, group, decided, chosen[0])


def _still_open(context, group_id, chosen):
    """Return those of some creates whose servers still wait."""
    waiting = {each.id for each in VRTCreate.list_open(context, group_id)}
    return [each for each in chosen if each.create.id in waiting]


def _choose(context, group, waiting):
    """Choose members for the servers of creates; refuse what is impossible.

    What is so only beside older creates stays open: they may get no hosts.

    :param waiting: VRTCreates, oldest first
    :returns: [CreateChoices] of those that get members
    """
    chosen, older = [], {}
    for each in waiting:
        try:
            roster, choices = _choose_for(group, each, older)
        except creates.Refused:
            _fail_if_impossible(context, group, each)
            continue
        by_server = dict(zip(each.server_uuids, choices, strict=True))
        older |= {
            uuid: _OlderChoice(one.member, roster, each.kinds)
            for uuid, one in by_server.items()
        }
        chosen.append(create_draft.CreateChoices(each, by_server))
    return chosen


@dataclasses.dataclass(frozen=True)
class _OlderChoice:
    """The member of a server of an older create, in the roster for that."""

    member: Member
    roster: Roster
    kinds: Mapping

    def request_in(self, roster, kinds):
        """Return the server's request in the roster for another create."""
        path = self.member.member_set
        if self.member.request == self.roster.member_sets[path].request:
            return roster.member_sets[path].request
        # It is as the member set was described before.
        return stored.MATCHING if kinds == self.kinds else None


def _choose_for(group, waiting, older):
    """Choose members for the servers of a create.

    :param older: {server uuid: _OlderChoice} of older creates
    :returns: (Roster, choices)
    :raises: creates.Refused
    """
    roster = stored.read(group, Matching(waiting.kinds))
    _repeat(roster, older, waiting.kinds)
    return roster, creates.choose(
        roster, waiting.hint, waiting.server_uuids, stored.MATCHING
    )


def _fail_if_impossible(context, group, waiting):
    """End a create that gets no members, whatever becomes of older ones."""
    try:
        _choose_for(group, waiting, {})
    except creates.Refused as exc:
        error = exception.RedeemFailed(
            member=waiting.hint, reason=OBSTACLES[exc.obstacle]
        )
        waiting.fail(context, error.format_message())


def _repeat(roster, older, kinds):
    """Repeat the choices for older creates in a roster."""
    rows = {each.row: each for each in roster.members if each.row is not None}
    for uuid, choice in older.items():
        member = choice.member
        if member.row is None:
            same = roster.add(
                dataclasses.replace(
                    member, request=choice.request_in(roster, kinds)
                )
            )
        else:
            same = rows[member.row]
        same.path, same.server = member.path, uuid
        same.status = states.Member.REDEEMING


def _reserve_held(context, lease, group, chosen):
    """Reserve the members of creates that are all held; return the others.

    A create stays open while its name is that of a member to be renamed.
    """
    waiting = []
    for each in chosen:
        if each.to_place:
            waiting.append(each)
            continue
        with contextlib.suppress(exception.GenerationConflict):
            _rename(context, lease, group, each.members)
            each.create.choose(context, each.paths, draft_id=0)
            create_reservations.reserve_held(context, lease, each.create)
    return waiting


def _rename(context, lease, group, members):
    """Rename held members whose servers have asked for other names."""
    path_of = {member.id: member.path for member in group.members}
    new_paths = {
        each.row: each.path
        for each in members
        if each.path != path_of[each.row]
    }
    if new_paths:
        renames.rename(context, lease, new_paths)


def _refuse(context, group, draft, chosen):
    """Refuse a create whose draft has no plan.

    :param group: as it was decided: what has changed since may allow a plan
    :param chosen: CreateChoices of the create
    """
    if draft.status == states.Group.REFUSED:
        chosen.create.refuse(
            *(context, group, _reason(context, draft)),
            has_successors=chosen.has_successors,
        )
    else:
        chosen.create.fail(context, draft.fault or UNDECIDED)


def _reason(context, draft):
    """Return why a draft was refused, and what would help, as one text.

    Nova cuts faults at 255 bytes, so the reason comes first. That fewer
    servers would fit does not help one that asks for its place.
    """
    plan = VRTPlan.find_newest(context, draft.id)
    answer = plan.answer if plan else {}
    relaxations = [
        each
        for each in answer.get('relaxations', ())
        if not _leaves_out(each['change'])
    ]
    parts = [answer.get('reason') or {}, *relaxations[:1]]
    texts = [each.get('text', '').rstrip('.') for each in parts]
    return '; '.join(filter(None, texts)) or draft.fault


def _leaves_out(change):
    """Check whether a change of the topology leaves members out."""
    return any(
        'min_count' in part or 'min_counts' in part
        for part in change.get('together', [change])
    )
