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
        +-- TooFewFree               409  fewer members free than requested
        +-- LimitExceeded            403
        +-- Unsupported              400  a limit of the first version
        +-- ProposalNotFound         404  no proposal was requested
        +-- TooManyPlanned           409  limit of concurrent planning
        +-- OutOfTime                     planning took too long
        +-- HoldFailed                    Placement refused a hold
        +-- PlacementUnavailable          Placement did not answer
        +-- UnknownToPlacement            Placement lacks a named object
        +-- RedeemFailed                  the hold could not be redeemed
        +-- TablesDiffer                  tables of another release

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
    msg_fmt = _('VRT group %(group)s has changed since: look at it again.')
    code = 409


class TokenUsed(VRTException):
    msg_fmt = _('The client_token %(token)s was used for %(by)s.')
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
        'Another request creates the servers of VRT group %(group)s; the '
        'group tells how far it has come.'
    )
    code = 409


class BootTakenOver(VRTException):
    msg_fmt = _('The boot of request %(request)s does not go on any more.')


class DescriptionMismatch(VRTException):
    msg_fmt = _(
        'The server differs from what member %(member)s of the VRT '
        'group describes: %(reason)s'
    )
    code = 409


class TooFewFree(VRTException):
    msg_fmt = _(
        '%(wanted)s servers requested, but only %(free)s of the %(total)s '
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
        'Nobody has asked what to move of VRT group %(group)s: the action '
        '"propose" does.'
    )
    code = 404


class TooManyPlanned(VRTException):
    msg_fmt = _(
        'The project has %(number)s VRT groups, revisions and proposals that '
        'are being planned, and may have %(limit)s at a time. Try again when '
        'some are decided.'
    )
    code = 409


class OutOfTime(VRTException):
    msg_fmt = _(
        'There was no time to find a plan and to hold it: both may take '
        '%(seconds)s seconds here. Another try may succeed; so may a group '
        'with fewer kinds of members, or with fewer members.'
    )


class HoldFailed(VRTException):
    msg_fmt = _('The plan could not be held: %(reason)s')


class PlacementUnavailable(VRTException):
    msg_fmt = _('Placement did not answer: %(reason)s')


class UnknownToPlacement(VRTException):
    msg_fmt = _('Placement does not know what is asked for: %(reason)s')


class RedeemFailed(VRTException):
    msg_fmt = _('Member %(member)s could not be redeemed: %(reason)s')


def state_conflict(paths, status, reason):
    """Return the MemberStateConflict that names one member or several."""
    one_or_more = MembersStateConflict if paths[1:] else MemberStateConflict
    return one_or_more(member=', '.join(paths), status=status, reason=reason)


class TablesDiffer(VRTException):
    msg_fmt = '%(reason)s'
