# SPDX-License-Identifier: Apache-2.0
"""Draft of a group that places the members which creates wait for.

It has the group's present definition, and moves no other hold.
"""

import dataclasses

from nova_groupext import exception
from nova_groupext.membership import stored
from nova_groupext.objects import drafts
from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.member_set import Matching


@dataclasses.dataclass(frozen=True)
class CreateChoices:
    """A create with the members for its servers.

    :ivar choices: {server uuid: creates.Choice}
    """

    create: VRTCreate
    choices: dict

    @property
    def paths(self):
        """Mapping of server uuid to the path of its member."""
        return {
            uuid: stored.path_of(each.member)
            for uuid, each in self.choices.items()
        }

    @property
    def members(self):
        return [each.member for each in self.choices.values()]

    @property
    def has_successors(self):
        return any(each.is_successor for each in self.members)

    @property
    def to_place(self):
        """Members that are not held yet."""
        return [
            each.member for each in self.choices.values() if not each.is_held
        ]


def store(context, group, chosen):
    """Store a draft that places the members of creates.

    :param chosen: [CreateChoices]
    :returns: the draft, in state PLANNING; None while the group is revised
    """
    members = {
        stored.path_of(member): member
        for each in chosen
        for member in each.to_place
    }
    draft = drafts.replacement_of(group, {path: [] for path in members})
    draft.is_for_creates = True
    draft.members = _drafted(group, draft, members)
    _describe_as_before(group, draft, chosen)
    try:
        drafts.store(context, group, draft)
    except (exception.GenerationConflict, exception.GroupStateConflict):
        return None
    for each in chosen:
        each.create.choose(context, each.paths, draft.id)
    return draft


def _drafted(group, draft, members):
    """Return the members of a draft that places some of them.

    A member that gets another name is a new one there, instead of the old one:
    it keeps its name if the draft is refused.

    :param members: {path: roster.Member} to be placed
    """
    rows = {each.row for each in members.values()}
    replaced = {each.path for each in group.members if each.id in rows}
    kept = [
        each
        for each in draft.members
        if each.path in members or each.path not in replaced
    ]
    described = {each.path: each for each in draft.member_sets}
    present = {each.path for each in kept}
    new = [
        VRTMember.tentative(path, described[each.member_set], each.succeeds)
        for path, each in members.items()
        if path not in present
    ]
    return [*kept, *new]


def _describe_as_before(group, draft, chosen):
    """Give drafted members the request of servers described before."""
    requests = {
        stored.path_of(each): _former_request(
            group, each.member_set, one.create.kinds
        )
        for one in chosen
        for each in one.to_place
    }
    for member in draft.members:
        if requests.get(member.path) is not None:
            member.server_request = requests[member.path]


def _former_request(group, member_set, kinds):
    """Return the request of a pending server that a create's are like.

    It is None if the member set describes the create's servers now.
    """
    matching = Matching(kinds)
    return next(
        (
            each.pending_request
            for each in group.members
            if each.member_set == member_set
            and matching.described_before(each)
        ),
        None,
    )
