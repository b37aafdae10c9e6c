# SPDX-License-Identifier: Apache-2.0
"""What is held for resizes, for as long as there is one to come."""

from oslo_log import log as logging

from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import trouble
from nova_groupext.scheduler import verification
from nova_groupext.scheduler.hold import growths
from nova_groupext.scheduler.look import hosts

LOG = logging.getLogger(__name__)


def follow_growths(context, ledger):
    """Compare growths with servers, hosts and Placement.

    Not those of groups that exchange what they hold: they may be empty.
    """
    exchanging = VRTGroup.exchanging(context)
    found = [
        growth
        for growth in VRTHold.list_growths(context)
        if growth.group_id not in exchanging
    ]
    members = {
        member.id: member
        for member in VRTMember.list_by_ids(
            context, [growth.grows_id for growth in found]
        )
    }
    for growth in found:
        if growth.grows_id not in members:
            # Its group was forgotten since the growths were read.
            continue
        with trouble.passed_over(f'Growth {growth.uuid}'):
            why = _why_over(context, ledger, growth, members[growth.grows_id])
            if why is not None:
                growths.end(context, ledger, growth, why)


def _why_over(context, ledger, growth, member):
    """Return why nothing is to be held any more; None if it is held."""
    if member.status != states.Member.ACTIVE or member.server_flavor is None:
        return 'there is no server to resize'
    if hosts.is_out_of_service(context, growth.host, growth.provider_uuid):
        return 'its host was taken out of service'
    if ledger.allocations(context, growth.uuid) == growth.allocations:
        if verification.losers(context, ledger, [growth]):
            return verification.IS_TOO_MUCH
    elif growth.group_id in VRTGroup.exchanging(context):
        # A revision writes down what it exchanges before it empties a hold.
        return None
    elif not VRTHold.still(context, [growth], states.Hold.HELD):
        # It was ended since it was read.
        return None
    elif ledger.has_swapped(context, growth, member.server_uuid):
        return 'its server is resized'
    elif not growths.restore(context, ledger, growth):
        return 'it was removed, and there is no room for it any more'
    return None
