# SPDX-License-Identifier: Apache-2.0
"""Versioned notifications about groups and their members.

They have the form and the transport of Nova's own, and the same options turn
them on and off. Each reports one change after it was made, with the state at
that time. The payload contains what the tenant can see, and no hosts:
operators find these in the log under the same request id.
"""

import enum

from nova import rpc
from nova.notifications.objects import base
from nova.objects import base as nova_base
from nova.objects import fields
from oslo_log import log as logging

from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects.event import VRTEvent
from nova_groupext.objects.group import VRTGroup

LOG = logging.getLogger(__name__)

SOURCE = 'nova-groupext'


class Event(enum.StrEnum):
    # A plan was found; the tenant asked not to hold it.
    PLAN = 'vrt_group.plan'
    # No plan was found and no proof that none exists; or an error.
    PLAN_ERROR = 'vrt_group.plan.error'
    HOLD = 'vrt_group.hold'
    # The planner has proved that no plan exists.
    REFUSE = 'vrt_group.refuse'
    # The tenant released holds; holds have expired.
    RELEASE = 'vrt_group.release'
    EXPIRE = 'vrt_group.expire'
    # The tenant, or a revision, extended the lifetime of the holds.
    EXTEND = 'vrt_group.extend'
    # A member has become a server; a member has lost its hold.
    REDEEM = 'vrt_member.redeem'
    LOSE_HOLD = 'vrt_member.lose_hold'


# Names of the VRTEvents that groups store for these notifications.
_STORED_EVENTS = {Event.EXPIRE: 'expired', Event.LOSE_HOLD: 'hold_lost'}

_EVENT_OF_STATUS = {
    states.Group.PLANNED: Event.PLAN,
    states.Group.HELD: Event.HOLD,
    # A revision that left nothing to hold.
    states.Group.ACTIVE: Event.HOLD,
    states.Group.RELEASED: Event.RELEASE,
    states.Group.REFUSED: Event.REFUSE,
    states.Group.UNDECIDED: Event.PLAN_ERROR,
    states.Group.ERROR: Event.PLAN_ERROR,
}


class VRTPayload(base.NotificationPayloadBase):
    OBJ_PROJECT_NAMESPACE = 'nova_groupext'


@nova_base.NovaObjectRegistry.register_notification
class VRTGroupPayload(VRTPayload):
    VERSION = '1.0'
    fields = {
        'uuid': fields.UUIDField(),
        'name': fields.StringField(),
        'project_id': fields.StringField(),
        'user_id': fields.StringField(),
        'status': fields.StringField(),
        'fault': fields.StringField(nullable=True),
        'expires_at': fields.DateTimeField(nullable=True),
        # {path: status} of all members
        'members': fields.DictOfStringsField(),
    }
    SCHEMA = {name: ('group', name) for name in fields if name != 'members'}

    def __init__(self, group):
        super().__init__()
        self.members = {each.path: each.status for each in group.members}
        self.populate_schema(group=group)


@nova_base.NovaObjectRegistry.register_notification
class VRTMemberPayload(VRTPayload):
    SCHEMA = {
        'group_uuid': ('group', 'uuid'),
        'group_name': ('group', 'name'),
        'project_id': ('group', 'project_id'),
        'user_id': ('group', 'user_id'),
        'path': ('member', 'path'),
        'status': ('member', 'status'),
        'fault': ('member', 'fault'),
        'server_uuid': ('member', 'server_uuid'),
    }
    VERSION = '1.0'
    fields = {
        'group_uuid': fields.UUIDField(),
        'group_name': fields.StringField(),
        'project_id': fields.StringField(),
        'user_id': fields.StringField(),
        'path': fields.StringField(),
        'status': fields.StringField(),
        'fault': fields.StringField(nullable=True),
        'server_uuid': fields.UUIDField(nullable=True),
    }

    def __init__(self, group, member):
        super().__init__()
        self.populate_schema(group=group, member=member)


def notify_decision(context, group, name=None):
    """Record and notify the result of planning a group.

    :param group: VRTGroup with its new status
    :param name: name of the VRTEvent, by default the status
    """
    event = _EVENT_OF_STATUS.get(group.status)
    # A status without an entry is that of a group deleted meanwhile: whoever
    # releases it notifies.
    if event is not None:
        VRTEvent.record_change(
            context, group.id, name or group.status.lower(), group.fault
        )
        notify_group(context, event, group)


def notify_revision(context, before, revised):
    """Record and notify that a revision is the definition of its group.

    :param before: VRTGroup as it was before
    :param revised: the same VRTGroup, read again
    """
    notify_decision(context, revised, 'revised')
    had_holds = before.status in states.GROUP_WITH_HOLDS
    if had_holds and revised.expires_at > before.expires_at:
        notify_group(context, Event.EXTEND, revised)


def notify_group(context, event, group):
    """Notify of an event of a group, and store the VRTEvent it has."""
    if event in _STORED_EVENTS:
        VRTEvent.record_change(context, group.id, _STORED_EVENTS[event])
    _send(
        *(context, event),
        lambda: VRTGroupPayload(VRTGroup.get(context, group.uuid)),
    )


def notify_member(context, event, member):
    """Notify of an event of a member, and store the VRTEvent it has."""
    if event in _STORED_EVENTS:
        VRTEvent.record_change(
            context,
            member.group_id,
            _STORED_EVENTS[event],
            f'{member.path}: {member.fault}',
        )
    _send(
        *(context, event),
        lambda: VRTMemberPayload(
            VRTGroup.find_by_id(context, member.group_id), member
        ),
    )


def _send(context, event, make_payload):
    """Send a notification where they are on, and log its errors.

    The change that it reports was made and stands, even if the notification
    fails.
    """
    # No RPC transport is set up.
    if rpc.NOTIFIER is None:
        return
    try:
        _send_if_enabled(context, event, make_payload)
    except Exception:
        LOG.exception(
            'Notification %s could not be sent; it is dropped.', event
        )


@rpc.if_notifications_enabled
def _send_if_enabled(context, event, make_payload):
    notifier = rpc.get_versioned_notifier(f'{SOURCE}:{CONF.host}')
    notify = notifier.error if event == Event.PLAN_ERROR else notifier.info
    payload = make_payload().obj_to_primitive()
    notify(context, event_type=event.value, payload=payload)
