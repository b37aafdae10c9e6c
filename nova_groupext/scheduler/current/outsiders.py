# SPDX-License-Identifier: Apache-2.0
"""Locations of members of other groups that relationships refer to.

They are constants for the planner: it neither moves nor waits for these
members. Their locations at this moment count; members that have ended do not.
"""

from nova_groupext.objects import related
from nova_groupext.scheduler.current import locations
from nova_groupext.solver.language import paths


def locate(context, group):
    """Return {path name, prefixed with the other group's id: Location}.

    :param group: VRTGroup; no query is made if it refers to no other group
    """
    return {
        paths.join(other, member): locations.Location(host, node)
        for other, path in sorted(related.named_parts(group))
        for member, host, node in related.list_locations(
            context, group.project_id, other, path
        )
    }
