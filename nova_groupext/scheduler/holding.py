# SPDX-License-Identifier: Apache-2.0
"""Step 4, hold: a whole plan goes into Placement, or nothing of it."""

import collections
import itertools

from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold


def hold(context, group, plan, ledger):
    """Hold every member that the plan places.

    The rows are written first: whatever happens to this process, they say
    what may be found in Placement.

    :param ledger: ledger.Ledger
    :raises: HoldFailed, PlacementUnavailable; what was held is given back, if
        need be by the reaper
    """
    members = {member.path: member for member in group.members}
    rows = [
        _row(context, members[path], seat)
        for path, seat in plan.placement.items()
    ]
    try:
        for chunk in _chunks(rows, CONF.vrt.hold_chunk_size):
            ledger.hold(context, chunk)
        _verify(context, rows, ledger)
    except exception.VRTException as exc:
        if isinstance(exc, exception.HoldFailed):
            _forget_unwritten(context, rows)
        roll_back(context, group, ledger)
        raise


def roll_back(context, group, ledger):
    """Give back whatever is held of a group that is not held."""
    for row in VRTHold.list_by_group(context, group.id):
        ledger.empty(context, row)


def _forget_unwritten(context, rows):
    """Placement said no: what was not written by now never will be."""
    for row in rows:
        if row.status == states.Hold.WRITING:
            row.destroy(context)


def _row(context, member, seat):
    row = VRTHold(
        uuid=uuidutils.generate_uuid(),
        group_id=member.group_id,
        member_id=member.id,
        status=states.Hold.WRITING,
        host=seat['host'],
        node=seat['node'],
        provider_uuid=seat['provider'],
        allocations=seat['allocations'],
        mappings=seat['mappings'],
        consumer_generation=None,
    )
    row.create(context)
    return row


def _verify(context, rows, ledger):
    """Placement can overcommit a provider when two write at once."""
    classes = collections.defaultdict(set)
    for row in rows:
        for provider, allocation in row.allocations.items():
            classes[provider].update(allocation['resources'])
    for provider, names in sorted(classes.items()):
        if ledger.is_overcommitted(context, provider, names):
            raise exception.HoldFailed(
                reason='another allocation was written at the same time'
            )


def _chunks(rows, size):
    iterator = iter(rows)
    return iter(lambda: list(itertools.islice(iterator, size)), [])
