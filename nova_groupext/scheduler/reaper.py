# SPDX-License-Identifier: Apache-2.0
"""What nobody else finishes: expired, deleted and abandoned groups."""

import datetime

from oslo_utils import timeutils

from nova_groupext.conf import CONF
from nova_groupext.objects.group import VRTGroup


def expire(context):
    """Give up the members that nobody created in time."""
    for group in VRTGroup.list_expired(context, timeutils.utcnow()):
        group.give_up(context)


def to_release(context):
    """Return the groups with something to give back."""
    return VRTGroup.list_releasing(context)


def to_plan(context):
    """Return the groups whose planner died, or whose cast was lost."""
    lease = datetime.timedelta(seconds=CONF.vrt.lease)
    return VRTGroup.list_abandoned(context, timeutils.utcnow() - lease)
