# SPDX-License-Identifier: Apache-2.0
"""How many groups, members and holds there are, for operators to graph."""

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
    """Return {what: {status: how many}}, every status among them.

    ``oldest_releasing`` says for how many seconds the oldest hold has waited
    to be given back; where the reaper works, that is not long.
    """
    counts = {
        name: dict.fromkeys(statuses, 0)
        | db.count_each(context, model, model.status)
        for name, (model, statuses) in _COUNTED.items()
    }
    leaving = VRTHold.list_by_status(context, states.Hold.RELEASING)
    now = db.time(context)
    ages = [now - (hold.updated_at or hold.created_at) for hold in leaving]
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
