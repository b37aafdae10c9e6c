# SPDX-License-Identifier: Apache-2.0
"""What is held stays so for longer, as far as quota and operator allow."""

import datetime

from nova_groupext import quota
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.objects import states
from nova_groupext.objects.member import VRTMember

SECOND = datetime.timedelta(seconds=1)


def extend(context, group, seconds):
    """Keep what is held of a group for so many seconds from now.

    At most until all of it was held for ``[vrt]max_hold_lifetime``.

    :raises: GroupStateConflict when there is nothing to keep, or it may not
        be kept for longer; LimitExceeded when the project holds and runs more
        than its quota is by now
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
    group.extend(context, seconds)
