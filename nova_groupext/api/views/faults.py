# SPDX-License-Identifier: Apache-2.0
"""Faults in the form of Nova's servers: code, message, created."""

from nova import utils

from nova_groupext.objects import states

# HTTP code of a fault, by the status of a group, revision or member.
_GONE, CONFLICT, UNAVAILABLE, _SERVER_ERROR = 410, 409, 503, 500
_CODES = {
    states.Group.PLANNING: UNAVAILABLE,
    states.Group.UNDECIDED: UNAVAILABLE,
    states.Group.REFUSED: CONFLICT,
    # Its hold has ended, or its server was deleted.
    states.Member.TENTATIVE: _GONE,
    states.Member.RELEASED: _GONE,
}


def view_of(part):
    """Return the fault of a VRTGroup or VRTMember, or None."""
    if not part.fault:
        return None
    return view(
        _CODES.get(part.status, _SERVER_ERROR), part.fault, part.fault_at
    )


def view(code, message, created):
    """Return a fault.

    :param created: datetime, or None if unknown
    """
    return {
        'code': code,
        'message': message,
        'created': utils.isotime(created) if created else None,
    }
