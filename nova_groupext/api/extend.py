# SPDX-License-Identifier: Apache-2.0
"""Extension of a group's expiry, within quota and operator limits."""

import datetime

from nova_groupext import quota
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.objects import states
from nova_groupext.objects.member import VRTMember

SECOND = datetime.timedelta(seconds=1)


def extend(context, group, seconds, seen=None):
    """Set the expiry of a group's holds to a number of seconds from now.

    :param seen: expected generation of the group, None for any
    :raises: GroupStateConflict if nothing is held or the maximum is reached;
        LimitExceeded if holds and servers exceed the project's present
        quota; GenerationConflict
    """
    group.extend(context, allowed(context, group, seconds), seen)


def allowed(context, group, seconds):
    """Return for how many seconds from now a group may be held.

    The limit is when its newest hold reaches ``[vrt]max_hold_lifetime``.

    :raises: GroupStateConflict, LimitExceeded
    """
    held = [m for m in group.members if m.status == states.Member.HELD]
    quota.check(context, group.project_id, held)
    lifetime = CONF.vrt.max_hold_lifetime
    most = VRTMember.held_until(context, group.id, lifetime)
    now = db.time(context)
    end = now + seconds * SECOND
    if most and most < end:
        if group.expires_at and most - group.expires_at < SECOND:
            raise group.conflict(
                f'nothing of it may be held after {most:%Y-%m-%dT%H:%M:%SZ}: '
                f'this cloud holds for at most {lifetime} seconds'
            )
        seconds = (most - now) // SECOND
    return seconds
