# SPDX-License-Identifier: Apache-2.0
"""Versioned notifications: what becomes of groups and their members.

They go the way of Nova's own, in the same form, and are turned on and off by
the same options. Each tells of one change, after it was made; the payload is
what is true then. It holds what the tenant can see anyway, and no hosts:
operators find those in the log, under the same request id.
"""

import enum
import functools

from nova import rpc
from nova.notifications.objects import base
from nova.objects import base as nova_base
from nova.objects import fields
from oslo_log import log as logging

from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup

LOG = logging.getLogger(__name__)

SOURCE = 'nova-groupext'


class Event(enum.StrEnum):
    # A plan was found that is not held, as the tenant wished.
    PLAN = 'vrt_group.plan'
    # There is no plan, and no proof that there is none; or an error.
    PLAN_ERROR = 'vrt_group.plan.error'
    HOLD = 'vrt_group.hold'
    # It is proved that there is no plan.
    REFUSE = 'vrt_group.refuse'
    # Something that was held was given up by the tenant, or in its time.
    RELEASE = 'vrt_group.release'
    EXPIRE = 'vrt_group.expire'
    # What is held stays so for longer.
    EXTEND = 'vrt_group.extend'
    # A member has become a server, or has lost its place to somebody else.
    REDEEM = 'vrt_member.redeem'
    LOSE_HOLD = 'vrt_member.lose_hold'


_DECISIONS = {
    states.Group.PLANNED: Event.PLAN,
    states.Group.HELD: Event.HOLD,
    # A revision of which nothing had to be held, or nothing is left.
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
    SCHEMA = {
        name: ('group', name)
        for name in (
            'uuid',
            'name',
            'project_id',
            'user_id',
            'status',
            'fault',
            'expires_at',
        )
    }
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


def decided(context, group):
    """Tell that planning has come to an end, and to which.

    :param group: VRTGroup with its new status
    """
    event = _DECISIONS.get(group.status)
    # Whoever releases a group that was deleted since then tells of that.
    if event is not None:
        of_group(context, event, group)


def _safely(function):
    """Do nothing where notifications are off, and let nothing else fail.

    What is told has happened: it is not undone because nobody can be told.
    """

    @functools.wraps(function)
    def wrapped(context, event, about):
        # Without an RPC transport there is nobody to tell.
        if rpc.NOTIFIER is None:
            return
        try:
            rpc.if_notifications_enabled(function)(context, event, about)
        except Exception:
            LOG.exception('Notification %s could not be sent.', event)

    return wrapped


@_safely
def of_group(context, event, group):
    """Tell what has become of a group."""
    fresh = VRTGroup.get(context, group.uuid)
    _send(context, event, VRTGroupPayload(fresh))


@_safely
def of_member(context, event, member):
    """Tell what has become of a member."""
    group = VRTGroup.brief(context, member.group_id)
    _send(context, event, VRTMemberPayload(group, member))


def _send(context, event, payload):
    notifier = rpc.get_versioned_notifier(f'{SOURCE}:{CONF.host}')
    notify = notifier.error if event == Event.PLAN_ERROR else notifier.info
    notify(context, event_type=event.value, payload=payload.obj_to_primitive())
