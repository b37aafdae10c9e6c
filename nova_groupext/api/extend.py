# SPDX-License-Identifier: Apache-2.0
"""Extension of a group's expiry, within quota and operator limits."""

import datetime

from nova_groupext import quota
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.objects import states
from nova_groupext.objects.member import VRTMember

SECOND = datetime.timedelta(seconds=1)


def allowed_seconds(context, group, seconds):
    """Return for how many seconds from now a group may be held.

    The limit is when its newest hold reaches ``[vrt]max_hold_lifetime``.

    :raises: GroupStateConflict if the maximum is reached; LimitExceeded if
        holds and servers exceed the project's present quota
    """
    held = [m for m in group.members if m.status == states.Member.HELD]
    quota.check(context, group.project_id, held)
    lifetime = CONF.vrt.max_hold_lifetime
    latest = VRTMember.held_until(context, group.id, lifetime)
    now = db.time(context)
    end = now + seconds * SECOND
    if latest and latest < end:
        if group.expires_at and latest - group.expires_at < SECOND:
            raise group.conflict(
                f'its members can be held until {latest:%Y-%m-%dT%H:%M:%SZ} '
                'at the latest: this cloud holds a member for at most '
                f'{lifetime} seconds'
            )
        seconds = (latest - now) // SECOND
    return seconds
