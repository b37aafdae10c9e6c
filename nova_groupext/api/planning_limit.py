# SPDX-License-Identifier: Apache-2.0
"""Limit on the plans and proposals that a project waits for."""

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.proposal import VRTProposal


def check(context, project_id):
    """Refuse to plan more while a project waits for too many plans.

    Concurrent requests may exceed the limit slightly, which is acceptable.

    :raises: TooManyPlanned
    """
    limit = CONF.vrt.max_planning_per_project
    number = VRTGroup.count_planning(
        context, project_id
    ) + VRTProposal.count_waiting(context, project_id)
    if number >= limit:
        raise exception.TooManyPlanned(number=number, limit=limit)
