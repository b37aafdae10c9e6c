# SPDX-License-Identifier: Apache-2.0
"""How much of a project may wait for planners at a time."""

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.proposal import VRTProposal


def check(context, project_id):
    """Refuse what is to be planned while much of a project is.

    Two requests at once may both find room for one: it is about thousands.

    :raises: TooManyPlanned
    """
    limit = CONF.vrt.max_planning_per_project
    number = VRTGroup.count_planning(
        context, project_id
    ) + VRTProposal.count_waiting(context, project_id)
    if number >= limit:
        raise exception.TooManyPlanned(number=number, limit=limit)
