# SPDX-License-Identifier: Apache-2.0
"""Numbers of groups, members and holds, for operators to graph."""

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold

_COUNTED = {
    'groups': (models.Group, states.Group),
    'members': (models.Member, states.Member),
    'holds': (models.Hold, states.Hold),
}


def statistics(context):
    """Return {kind: {status: number}} with every status.

    ``oldest_releasing`` is the number of seconds that the oldest hold has been
    RELEASING; it is small while the reaper works.
    """
    counts = {
        name: dict.fromkeys(statuses, 0)
        | db.count_each(context, model, model.status)
        for name, (model, statuses) in _COUNTED.items()
    }
    releasing = VRTHold.list_by_status(context, states.Hold.RELEASING)
    now = db.time(context)
    ages = [now - (hold.updated_at or hold.created_at) for hold in releasing]
    counts['oldest_releasing'] = max(
        (round(age.total_seconds()) for age in ages), default=0
    )
    return counts


def line(counts):
    """Return statistics in one line, as ``groups.HELD=3 ...``."""
    pairs = [
        (f'{name}.{status}', count)
        for name in _COUNTED
        for status, count in counts[name].items()
    ]
    pairs.append(('oldest_releasing', counts['oldest_releasing']))
    return ' '.join(f'{name}={value}' for name, value in pairs)
