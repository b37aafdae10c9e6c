# SPDX-License-Identifier: Apache-2.0
"""What nobody else finishes: expired, deleted and abandoned groups."""

import datetime

from oslo_utils import timeutils

from nova_groupext.conf import CONF
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import redeem


def expire(context):
    """Give up the members that nobody created in time."""
    for group in VRTGroup.list_expired(context, timeutils.utcnow()):
        group.give_up(context)


def to_conclude(context):
    """Return the members whose create nobody hears of any more."""
    return VRTMember.list_stuck(context, timeutils.utcnow() - _lease())


def conclude(context, ledger, member):
    """Find out what became of a create."""
    hold = VRTHold.get_by_member(context, member.id)
    if hold is not None:
        before = timeutils.utcnow() - _lease()
        redeem.conclude(context, ledger, member, hold, before)


def to_release(context):
    """Return the groups with something to give back."""
    return VRTGroup.list_releasing(context)


def to_plan(context):
    """Return the groups whose planner died, or whose cast was lost."""
    return VRTGroup.list_abandoned(context, timeutils.utcnow() - _lease())


def _lease():
    return datetime.timedelta(seconds=CONF.vrt.lease)
