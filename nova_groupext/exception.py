# SPDX-License-Identifier: Apache-2.0
"""Errors of nova_groupext.

Deriving from Nova's base class makes Nova's fault wrapper and RPC layer treat
them like Nova's own errors: with a code and a safe message.
"""

from nova import exception
from nova.i18n import _


class VRTException(exception.NovaException):
    msg_fmt = _('A VRT group operation failed.')


class NotFound(VRTException):
    code = 404


class Conflict(VRTException):
    code = 409


class GroupNotFound(NotFound):
    msg_fmt = _('VRT group %(group)s could not be found.')


class MemberNotFound(NotFound):
    msg_fmt = _('VRT group %(group)s has no member %(member)s.')


class UnknownMember(MemberNotFound):
    """The path of a hint is not one of the group's; others resemble it."""

    msg_fmt = _(
        'VRT group %(group)s has no member %(member)s. Similar ones: '
        '%(similar)s'
    )


class ServerNotFound(NotFound):
    msg_fmt = _('Server %(server)s could not be found.')


class GenerationConflict(Conflict):
    msg_fmt = _(
        'VRT group %(group)s has changed since it was read: read it again '
        'and retry.'
    )


class StaleGeneration(GenerationConflict):
    """The caller has read another definition than the present one."""


class GroupGrowing(Conflict):
    msg_fmt = _(
        'VRT group %(group)s is being extended: hosts are held for servers '
        'that wait for them; retry.'
    )


class TokenUsed(Conflict):
    msg_fmt = _(
        'The client_token %(token)s was already used for %(by)s; use another '
        'one.'
    )


class GroupStateConflict(Conflict):
    msg_fmt = _('VRT group %(group)s is %(status)s: %(reason)s')


class MemberStateConflict(Conflict):
    msg_fmt = _('Member %(member)s is %(status)s: %(reason)s')

    def because(self, why):
        """Return the same error with a further reason."""
        reason = f'{self.kwargs["reason"]}; {why}'
        return type(self)(**{**self.kwargs, 'reason': reason})


class MembersStateConflict(MemberStateConflict):
    msg_fmt = _('Members %(member)s are %(status)s: %(reason)s')


class ServerConflict(Conflict):
    msg_fmt = _('Server %(server)s cannot be adopted: %(reason)s')


class GroupBusy(Conflict):
    msg_fmt = _('VRT group %(group)s is busy with another operation.')


class GroupBooting(Conflict):
    msg_fmt = _(
        'Another request is creating the servers of VRT group %(group)s; the '
        'field "boot" of the group shows its progress.'
    )


class BootTakenOver(VRTException):
    msg_fmt = _(
        'The boot of request %(request)s stops: another boot has replaced '
        'it, or its group was deleted.'
    )


class DescriptionMismatch(Conflict):
    msg_fmt = _(
        'The server differs from the description of member %(member)s of the '
        'VRT group: %(reason)s'
    )


class TooFewRedeemable(Conflict):
    """Fewer members under a path can get a server than were requested."""

    msg_fmt = _(
        '%(servers)s requested, but only %(free)s of the %(total)s members of '
        '%(where)s can be created now%(why)s'
    )

    def __init__(self, requested, member, members, free, why=None):
        """Take the numbers and, if it is known, the reason.

        :param member: path, '' for the whole group
        :param members: all members under it
        :param free: those that can get a server
        """
        total = sum(not each.is_successor for each in members)
        super().__init__(
            servers='1 server' if requested == 1 else f'{requested} servers',
            free=len(free),
            total=total,
            where=member or 'the group',
            why=f': {why}' if why else '.',
        )
        self._parts = (requested, member, members, free)

    def because(self, why):
        """Return the same error with its reason."""
        return type(self)(*self._parts, why=why)


class LimitExceeded(VRTException):
    msg_fmt = _('%(reason)s')
    code = 403


class Unsupported(VRTException):
    msg_fmt = _('%(path)s: %(reason)s')
    code = 400


class ProposalNotFound(NotFound):
    msg_fmt = _(
        'No proposal of server moves was requested for VRT group %(group)s: '
        'request one with the action "propose".'
    )


class TooManyPlanned(Conflict):
    msg_fmt = _(
        'The project has %(number)s VRT groups, revisions and proposals in '
        'planning; the limit is %(limit)s. Retry when some of them are '
        'planned.'
    )


class TooManyWaiting(Conflict):
    msg_fmt = _(
        'Too many servers of VRT groups wait for hosts; retry when some of '
        'them have one.'
    )


class MemberLimitExceeded(VRTException):
    msg_fmt = _(
        'The definition of the VRT group allows no more servers of %(where)s: '
        '%(reason)s Delete a server, or raise max_count or max_surge.'
    )
    code = 403

    def __init__(self, member, reason):
        """Take the path, '' for the whole group, and what is in the way."""
        super().__init__(
            where=member or 'the group', reason=f'{reason.rstrip(".")}.'
        )


class PlacementRefused(VRTException):
    msg_fmt = _('%(reason)s')
    code = 403


class UnknownPolicyType(VRTException):
    msg_fmt = _(
        'This process lacks policy types that the group uses: %(types)s. '
        'Install the package that provides them.'
    )


class OutOfTime(VRTException):
    msg_fmt = _(
        'Planning and holding exceeded the time limit of %(seconds)s '
        'seconds. Retry, or describe a group with fewer members or fewer '
        'member classes.'
    )


class HoldFailed(VRTException):
    msg_fmt = _('The plan could not be held: %(reason)s')


class PlacementUnavailable(VRTException):
    msg_fmt = _('Placement did not answer: %(reason)s')


class ProviderConflict(PlacementUnavailable):
    msg_fmt = _('Other processes kept changing the providers: %(reason)s')


class QuotaUnavailable(PlacementUnavailable):
    msg_fmt = _('The quota could not be read: %(reason)s')


class UnknownToPlacement(VRTException):
    msg_fmt = _(
        'Placement does not know a requested trait or resource class: '
        '%(reason)s'
    )


class RedeemFailed(VRTException):
    msg_fmt = _('Member %(member)s could not be redeemed: %(reason)s')

    def __init__(self, member, reason):
        """Take the path, '' for any member of the group, and the reason."""
        super().__init__(member=member or 'of the group', reason=reason)


def member_state_conflict(paths, status, reason):
    """Return the MemberStateConflict that names one member or several."""
    one_or_more = MembersStateConflict if paths[1:] else MemberStateConflict
    return one_or_more(member=', '.join(paths), status=status, reason=reason)


class SchemaMismatch(VRTException):
    msg_fmt = '%(reason)s'
