# SPDX-License-Identifier: Apache-2.0
"""New paths of members without a server, for servers that ask for a name."""

from collections.abc import Mapping

from nova.context import RequestContext

from nova_groupext import exception
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects.aliases import Path
from nova_groupext.objects.lease import VRTLease
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.plan import VRTPlan

# Prefix of paths within the transaction: no path begins with a slash.
BETWEEN = '/'


def rename(
    context: RequestContext, lease: VRTLease, new_paths: Mapping[int, Path]
) -> None:
    """Give members of a group other paths, in its newest plan as well.

    One may get the former path of another one.

    :param new_paths: {member id: path}
    :raises: GenerationConflict when a member has a server by now, or another
        one has the path, GroupBusy
    """

    def work() -> None:
        is_taken = models.Member.path.in_(new_paths.values())
        is_other = models.Member.id.not_in(new_paths)
        is_own = models.Member.group_id == lease.group_id
        if db.count(context, models.Member, is_own, is_taken, is_other):
            raise exception.GenerationConflict(group=lease.group_id)
        rows = db.find(context, models.Member, models.Member.id.in_(new_paths))
        paths = {row.path: new_paths[row.id] for row in rows}
        # All paths are free before the first is given again.
        between = {row.id: f'{BETWEEN}{row.id}' for row in rows}
        for step in (between, new_paths):
            for member_id, path in step.items():
                if not VRTMember.update_rows(
                    context,
                    models.Member.id == member_id,
                    models.Member.status.not_in(states.MEMBER_HAS_SERVER),
                    models.Member.reserved_for.is_(None),
                    path=path,
                ):
                    raise exception.GenerationConflict(group=lease.group_id)
        plan = VRTPlan.find_newest(context, lease.group_id)
        if plan is not None:
            plan.rename(context, paths)

    swaps.with_lease(context, lease, work)
