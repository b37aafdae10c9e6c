# SPDX-License-Identifier: Apache-2.0
"""What is held for resizes, for as long as there is one to come."""

from nova_groupext import exception
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import trouble
from nova_groupext.scheduler import verification
from nova_groupext.scheduler.follow.changes import Changes
from nova_groupext.scheduler.hold import ownership
from nova_groupext.scheduler.look import hosts
from nova_groupext.scheduler.protocol import hold_again
from nova_groupext.scheduler.protocol import redeem


def follow_growths(context, ledger, leases, changes=None):
    """Compare growths with servers, hosts and Placement.

    :param changes: changes.Changes, to read only what has changed
    """
    changes = changes or Changes()
    found = VRTHold.list_growths(context)
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
            member = members[growth.grows_id]
            _follow(context, ledger, leases, growth, member, changes)
    _conclude(context, ledger)


def _follow(context, ledger, leases, growth, member, changes):
    why = _why_over(context, growth, member)
    key = growth.uuid, [*growth.allocations]
    if why is None and not changes.are_due(*key):
        return
    if why is None and verification.losers(context, ledger, [growth]):
        why = verification.IS_TOO_MUCH
    if why is not None:
        ownership.end_growth(context, growth, why)
    elif ledger.allocations(context, growth.uuid) != growth.allocations:
        _hold_again(context, ledger, leases, growth)
    else:
        changes.note(*key)


def _why_over(context, growth, member):
    """Return why nothing is to be held any more; None if it is held."""
    if member.status != states.Member.ACTIVE or member.server_flavor is None:
        return 'there is no server to resize'
    if hosts.is_out_of_service(context, growth.host, growth.provider_uuid):
        return 'its host was taken out of service'
    return None


def _hold_again(context, ledger, leases, growth):
    """Hold a growth under a new uuid when somebody has changed it."""
    with leases.owning(context, ledger, growth.group_id) as lease:
        if (
            lease is None
            or not VRTHold.still(context, [growth], states.Hold.HELD)
            or ledger.allocations(context, growth.uuid) == growth.allocations
        ):
            # It was ended, or has changed hands, since it was read.
            return
        try:
            hold_again.hold_again(context, ledger, lease, growth)
        except exception.GenerationConflict:
            return


def _conclude(context, ledger):
    """Find out what became of resizes that nobody is at work on any more."""
    seconds = redeem.OVERDUE * CONF.rpc_response_timeout
    for growth in VRTHold.list_growths_redeeming(context, seconds):
        with trouble.passed_over(f'Growth {growth.uuid}'):
            owns = ledger.has_swapped(context, growth, growth.server_uuid)
            transitions.conclude_growth(context, growth, owns)
