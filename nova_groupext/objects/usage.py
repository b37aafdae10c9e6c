# SPDX-License-Identifier: Apache-2.0
"""Usage of a project that Nova does not count yet."""

from nova.context import RequestContext

from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.db.aliases import Time
from nova_groupext.objects import states
from nova_groupext.objects.member import VRTMember


def list_redeemed_since(
    context: RequestContext, project_id: str, since: Time
) -> list[VRTMember]:
    """Return the members of a project with recently redeemed holds.

    :returns: members, each with the uuid of its server
    """
    rows = db.find(
        context,
        models.Member,
        models.Member.server_uuid.is_not(None),
        models.Member.group_id == models.Group.id,
        models.Group.project_id == project_id,
        models.Hold.member_id == models.Member.id,
        models.Hold.status == states.Hold.REDEEMED,
        models.Hold.updated_at >= since,
    )
    return [VRTMember.from_row(context, row) for row in rows]
