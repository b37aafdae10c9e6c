# SPDX-License-Identifier: Apache-2.0
"""Update of a group's name, description and expiry without planning."""

from nova_groupext import exception
from nova_groupext import notifications
from nova_groupext.api import extend
from nova_groupext.api import groups
from nova_groupext.db import clock
from nova_groupext.objects import states
from nova_groupext.objects.event import VRTEvent
from nova_groupext.objects.group import VRTGroup
from nova_groupext.solver.language import validation

GROUP = '$.vrt_group'


def rename(context, group, attributes):
    """Change name, description or ``expires_in`` of a group.

    A new ``expires_in`` also restarts the expiry of a group in HELD.

    :param attributes: the ``vrt_group`` of a PUT without a topology
    :raises: GenerationConflict, InvalidInput; GroupStateConflict while the
        group or its revision is planned, or after it expired; GroupGrowing;
        the errors of extend.allowed_seconds()
    """
    groups.check_generation(group, attributes['generation'])
    values = {k: v for k, v in attributes.items() if k != 'generation'}
    if 'keep_server' in values:
        raise validation.InvalidInput(
            f'{GROUP}.keep_server', 'requires a topology'
        )
    if not values:
        raise validation.InvalidInput(GROUP, 'contains no change')
    if group.status == states.Group.PLANNING:
        raise group.conflict(
            'it is being planned; retry when planning has ended'
        )
    draft = VRTGroup.drafts_by_group(context, [group.id]).get(group.id)
    if draft is not None and draft.status == states.Group.PLANNING:
        if draft.is_for_creates:
            raise exception.GroupGrowing(group=group.uuid)
        raise group.conflict(
            'a revision of it is being planned; retry when planning has ended'
        )
    is_extended = 'expires_in' in values and group.status == states.Group.HELD
    if is_extended:
        group.check_unexpired()
        seconds = extend.allowed_seconds(context, group, values['expires_in'])
        values['expires_at'] = clock.now(seconds)
    group.update_description(context, values)
    if not is_extended or values.keys() - {'expires_in', 'expires_at'}:
        VRTEvent.record_request(context, group.id, 'update')
    if is_extended:
        VRTEvent.record_request(context, group.id, 'extend')
        notifications.notify_group(context, notifications.Event.EXTEND, group)
