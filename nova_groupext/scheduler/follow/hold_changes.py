# SPDX-License-Identifier: Apache-2.0
"""Follow holds and hosts: update of holds after changes in Placement and Nova.

For each provider with holds of members, if it has changed:

1. Read its usages. A provider that is gone ends its holds.
2. Hold again a hold whose allocations differ from its row
   (protocol.hold_again); without capacity the member fails.
3. End holds that overcommit the provider.

For each host with holds of members:

4. If the operator has removed or disabled it, end its holds.

==========  ===================================  ============================
crash       leaves                               who finishes
==========  ===================================  ============================
in 2        a prepared swap                      the next owner of the lease
after 1, 2  RELEASING holds of FAILED members    the reaper: it empties them
or 3, 4
==========  ===================================  ============================

Silence proves nothing: if Placement or a cell does not answer, the holds stay
unchanged until the next round.
"""

import collections
import functools

from oslo_log import log as logging

from nova_groupext.objects import states
from nova_groupext.objects import swap_results
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import availability
from nova_groupext.scheduler.current import policy_check
from nova_groupext.scheduler.follow import lost_holds
from nova_groupext.scheduler.nova import hosts
from nova_groupext.scheduler.placement import overcommitment
from nova_groupext.scheduler.placement.changed_providers import (
    ChangedProviders,
)
from nova_groupext.scheduler.protocol import hold_again

LOG = logging.getLogger(__name__)

HOST_IS_GONE = 'its host was taken out of service'


def follow_holds(context, placement_client, leases, changes=None):
    """Compare holds of members with their allocations in Placement.

    :param changes: ChangedProviders, to read only what has changed
    """
    changes = changes or ChangedProviders()
    by_provider = collections.defaultdict(list)
    for hold, member in _list_held(context):
        for provider in hold.allocations:
            by_provider[provider].append((hold, member))
    for provider, pairs in sorted(by_provider.items()):
        if not changes.are_due(provider, [provider]):
            continue
        with availability.skip_unavailable(f'provider {provider}'):
            if _follow_provider(
                context, placement_client, leases, provider, pairs
            ):
                changes.mark_consistent(provider, [provider])


def _follow_provider(context, placement_client, leases, provider, pairs):
    """Compare the holds on a provider; return whether all of them match."""
    # A hold may have ended because of another of its providers.
    pairs = [pair for pair in pairs if pair[0].status == states.Hold.HELD]
    used = placement_client.usages(context, provider)
    if used is None:
        lost_holds.end(context, pairs, HOST_IS_GONE)
        return False
    changed = [
        (hold, member)
        for hold, member in pairs
        if used.get(hold.uuid) != hold.allocations[provider]['resources']
    ]
    for hold, member in changed:
        with availability.skip_unavailable(f'hold {hold.uuid}'):
            _restore(context, placement_client, leases, hold, member)
    overcommitted = overcommitment.overcommitted_on(
        context, placement_client, provider, used
    )
    too_much = [pair for pair in pairs if pair[0].uuid in overcommitted]
    lost_holds.end(context, too_much, overcommitment.FAULT)
    return not changed and not overcommitted


def follow_hosts(context, _placement_client, _leases):
    """End holds on hosts that the operator takes out of service."""
    by_host = collections.defaultdict(list)
    for hold, member in _list_held(context):
        by_host[hold.host, hold.provider_uuid].append((hold, member))
    for (host, node_uuid), pairs in by_host.items():
        if hosts.is_out_of_service(context, host, node_uuid):
            lost_holds.end(context, pairs, HOST_IS_GONE)


def _list_held(context):
    """Return [(hold, member)] of the members in state HELD.

    Placeholders are excluded: maintain.maintain() follows them. So are members
    that are being redeemed: the hold may already be the server's, which the
    redeeming scheduler or the reaper finds out.
    """
    holds = VRTHold.list_by_status(context, states.Hold.HELD)
    members = {
        member.id: member
        for member in VRTMember.list_by_ids(
            context, [hold.member_id for hold in holds]
        )
        if member.status == states.Member.HELD
    }
    return [
        (hold, members[hold.member_id])
        for hold in holds
        if hold.member_id in members
    ]


def _restore(context, placement_client, leases, hold, member):
    """Hold again, under a new uuid, a hold whose allocation was changed."""
    with hold_again.lease_if_changed(
        context, placement_client, leases, hold
    ) as lease:
        if lease is None:
            return
        group = VRTGroup.get_row(context, hold.group_id)
        check = functools.partial(
            lost_holds.check_policies,
            policy_check.RedeemCheck(context, group.uuid),
            member,
        )
        if not lost_holds.restore(
            context, placement_client, lease, hold, check
        ):
            lost_holds.end(context, [(hold, member)], swap_results.IS_LOST)
