# SPDX-License-Identifier: Apache-2.0
"""What is said of a group is changed; nothing of it is planned again."""

from nova_groupext import exception
from nova_groupext.api import extend
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.planner import invalid

GROUP = '$.vrt_group'


def rename(context, group, wanted):
    """Change name, description or ``expires_in`` of a group.

    What is held is held for ``expires_in`` seconds from now then.

    :param group: VRTGroup, as the tenant has seen it
    :param wanted: what a PUT without a topology says
    :raises: GenerationConflict, InvalidInput; GroupStateConflict while it is
        revised; what extend.extend() raises
    """
    if wanted['generation'] != group.generation:
        raise exception.GenerationConflict(group=group.uuid)
    values = {k: v for k, v in wanted.items() if k != 'generation'}
    if 'keep_server' in values:
        raise invalid.InvalidInput(
            f'{GROUP}.keep_server', 'goes with a topology'
        )
    if not values:
        raise invalid.InvalidInput(GROUP, 'says nothing that would change')
    draft = VRTGroup.drafts_of(context, [group.id]).get(group.id)
    if draft is not None and draft.status == states.Group.PLANNING:
        raise group.conflict('a revision of it is being planned')
    if 'expires_in' in values and group.status == states.Group.HELD:
        extend.extend(context, group, values['expires_in'])
        group = VRTGroup.get(context, group.uuid)
    group.describe_anew(context, values)
