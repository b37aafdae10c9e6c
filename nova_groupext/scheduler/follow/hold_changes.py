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
crash       left behind                          finished by
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

from nova_groupext import chunks
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects import swap_results
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import availability
from nova_groupext.scheduler.follow import lost_holds
from nova_groupext.scheduler.nova import service_states
from nova_groupext.scheduler.placement import overcommitment
from nova_groupext.scheduler.placement.changed_providers import (
    ChangedProviders,
)
from nova_groupext.scheduler.protocol import hold_again

LOG = logging.getLogger(__name__)

# Number of providers whose holds are read by one query
PROVIDERS_AT_ONCE = 100

HOST_IS_GONE = 'its host was taken out of service'


def follow_holds(context, placement_client, leases, changes=None):
    """Compare holds of members with their allocations in Placement.

    :param changes: ChangedProviders, to read only what has changed
    """
    changes = changes or ChangedProviders()
    ids_on = collections.defaultdict(list)
    for hold_id, allocations in VRTHold.allocations_of_held_members(context):
        for provider in allocations:
            ids_on[provider].append(hold_id)
    due = sorted(each for each in ids_on if changes.are_due(each, [each]))
    for some in chunks.chunked(due, PROVIDERS_AT_ONCE):
        pairs_on = _read_pairs(context, {each: ids_on[each] for each in some})
        for provider in some:
            with availability.isolate(f'provider {provider}'):
                if _follow_provider(
                    *(context, placement_client, leases, provider),
                    pairs_on[provider],
                ):
                    changes.mark_consistent(provider, [provider])


def _read_pairs(context, ids_on):
    """Return {provider: [(hold, member)]}; holds that have ended are left out.

    :param ids_on: {provider: ids of holds}
    """
    ids = {each for ids in ids_on.values() for each in ids}
    pairs = _with_members(
        context,
        VRTHold.list_of_held_members(context, models.Hold.id.in_(ids)),
    )
    pair_of = {pair[0].id: pair for pair in pairs}
    return {
        provider: [pair_of[each] for each in ids if each in pair_of]
        for provider, ids in ids_on.items()
    }


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
        with availability.isolate(f'hold {hold.uuid}'):
            _restore(context, placement_client, leases, hold, member)
    overcommitted = overcommitment.overcommitted_on(
        context, placement_client, provider, used
    )
    too_much = [pair for pair in pairs if pair[0].uuid in overcommitted]
    lost_holds.end(context, too_much, overcommitment.FAULT)
    return not changed and not overcommitted


def follow_hosts(context, _placement_client, _leases):
    """End holds on hosts that the operator takes out of service."""
    gone = service_states.out_of_service(
        context, VRTHold.nodes_of_held_members(context)
    )
    if not gone:
        return
    on_gone = models.Hold.provider_uuid.in_([uuid for _host, uuid in gone])
    pairs = _with_members(
        context, VRTHold.list_of_held_members(context, on_gone)
    )
    lost_holds.end(
        context,
        [
            (hold, member)
            for hold, member in pairs
            if (hold.host, hold.provider_uuid) in gone
        ],
        HOST_IS_GONE,
    )


def _with_members(context, holds):
    """Return [(hold, its member)] of those members that are HELD still."""
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
        check = functools.partial(lost_holds.check_policies, context, member)
        if not lost_holds.restore(
            context, placement_client, lease, hold, check
        ):
            lost_holds.end(context, [(hold, member)], swap_results.IS_LOST)
