# SPDX-License-Identifier: Apache-2.0
"""Errors of nova_groupext.

::

    NovaException
    +-- VRTException
        +-- GroupNotFound            404
        +-- MemberNotFound           404
        +-- ServerNotFound           404
        +-- GenerationConflict       409  the group has changed
        +-- TokenUsed                409  client_token of another request
        +-- GroupStateConflict       409  wrong state of the group
        +-- MemberStateConflict      409  wrong state of the member
            +-- MembersStateConflict 409  wrong state of several members
        +-- ServerConflict           409  the server cannot be adopted
        +-- GroupBusy                409  another operation has the lease
        +-- GroupBooting             409  another request boots the group
        +-- BootTakenOver                 another boot has replaced this one
        +-- DescriptionMismatch      409  the server differs from the member
        +-- TooFewRedeemable         409  fewer members free than requested
        +-- LimitExceeded            403
        +-- Unsupported              400  a limit of the first version
        +-- ProposalNotFound         404  no proposal was requested
        +-- TooManyPlanned           409  limit of concurrent planning
        +-- OutOfTime                     planning took too long
        +-- HoldFailed                    Placement refused a hold
        +-- PlacementUnavailable          Placement did not answer
        +-- UnknownToPlacement            Placement lacks a named object
        +-- UnknownPolicyType             this process lacks a policy type
        +-- RedeemFailed                  the hold could not be redeemed
        +-- SchemaMismatch                tables of another release

Deriving from Nova's base class makes Nova's fault wrapper and RPC layer treat
them like Nova's own errors: with a code and a safe message.
"""

from nova import exception
from nova.i18n import _


class VRTException(exception.NovaException):
    msg_fmt = _('A VRT group operation failed.')


class GroupNotFound(VRTException):
    msg_fmt = _('VRT group %(group)s could not be found.')
    code = 404


class MemberNotFound(VRTException):
    msg_fmt = _('VRT group %(group)s has no member %(member)s.')
    code = 404


class ServerNotFound(VRTException):
    msg_fmt = _('Server %(server)s could not be found.')
    code = 404


class GenerationConflict(VRTException):
    msg_fmt = _(
        'VRT group %(group)s has changed since it was read: read it again '
        'and retry.'
    )
    code = 409


class TokenUsed(VRTException):
    msg_fmt = _(
        'The client_token %(token)s was already used for %(by)s; use another '
        'one.'
    )
    code = 409


class GroupStateConflict(VRTException):
    msg_fmt = _('VRT group %(group)s is %(status)s: %(reason)s')
    code = 409


class MemberStateConflict(VRTException):
    msg_fmt = _('Member %(member)s is %(status)s: %(reason)s')
    code = 409


class MembersStateConflict(MemberStateConflict):
    msg_fmt = _('Members %(member)s are %(status)s: %(reason)s')


class ServerConflict(VRTException):
    msg_fmt = _('Server %(server)s cannot be adopted: %(reason)s')
    code = 409


class GroupBusy(VRTException):
    msg_fmt = _('VRT group %(group)s is busy with another operation.')
    code = 409


class GroupBooting(VRTException):
    msg_fmt = _(
        'Another request is creating the servers of VRT group %(group)s; the '
        'field "boot" of the group shows its progress.'
    )
    code = 409


class BootTakenOver(VRTException):
    msg_fmt = _(
        'The boot of request %(request)s stops: another boot has replaced '
        'it, or its group was deleted.'
    )


class DescriptionMismatch(VRTException):
    msg_fmt = _(
        'The server differs from the description of member %(member)s of the '
        'VRT group: %(reason)s'
    )
    code = 409


class TooFewRedeemable(VRTException):
    msg_fmt = _(
        '%(requested)s servers requested, but only %(free)s of the %(total)s '
        'members under %(member)s can be created now.'
    )
    code = 409


class LimitExceeded(VRTException):
    msg_fmt = _('%(reason)s')
    code = 403


class Unsupported(VRTException):
    msg_fmt = _('%(path)s: %(reason)s')
    code = 400


class ProposalNotFound(VRTException):
    msg_fmt = _(
        'No proposal of server moves was requested for VRT group %(group)s: '
        'request one with the action "propose".'
    )
    code = 404


class TooManyPlanned(VRTException):
    msg_fmt = _(
        'The project has %(number)s VRT groups, revisions and proposals in '
        'planning; the limit is %(limit)s. Retry when some of them are '
        'planned.'
    )
    code = 409


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


class UnknownToPlacement(VRTException):
    msg_fmt = _(
        'Placement does not know a requested trait or resource class: '
        '%(reason)s'
    )


class RedeemFailed(VRTException):
    msg_fmt = _('Member %(member)s could not be redeemed: %(reason)s')


def member_state_conflict(paths, status, reason):
    """Return the MemberStateConflict that names one member or several."""
    one_or_more = MembersStateConflict if paths[1:] else MemberStateConflict
    return one_or_more(member=', '.join(paths), status=status, reason=reason)


class SchemaMismatch(VRTException):
    msg_fmt = '%(reason)s'
