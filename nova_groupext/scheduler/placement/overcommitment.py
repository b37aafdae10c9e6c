# SPDX-License-Identifier: Apache-2.0
"""Detection of holds that overcommit a provider.

Placement can overcommit a provider when two requests write at once, unless
the operator has configured it not to (see the admin guide). So what was
written is compared with the inventory, and surplus holds are released.
"""

from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember

FAULT = 'its host no longer has the held capacity'


def overcommitted_holds(context, placement_client, holds, providers=None):
    """Return those of some holds that must be released.

    :param holds: VRTHold rows
    :param providers: set of the providers to read; all of the holds by default
    :raises: PlacementUnavailable
    """
    if providers is None:
        providers = {each for hold in holds for each in hold.allocations}
    overcommitted = set()
    for provider in sorted(providers):
        usages = placement_client.usages(context, provider) or {}
        overcommitted |= overcommitted_on(
            context, placement_client, provider, usages
        )
    return [hold for hold in holds if hold.uuid in overcommitted]


def overcommitted_on(context, placement_client, provider, usages):
    """Return the uuids of the holds that overcommit a provider.

    Every process uses the same order: uncommitted holds, placeholders, other
    holds; the highest uuid first; until the rest fits. Servers stay.

    :param usages: result of PlacementClient.usages()
    :raises: PlacementUnavailable
    """
    while excess := placement_client.overcommitment(context, provider, usages):
        ours = VRTHold.list_by_uuids(context, usages)
        # A hold's row outlives its allocation. So a consumer without a row is
        # a server if it is still there. If not, it may have been a hold that
        # was released, and no other hold must be released for it.
        others = usages.keys() - {hold.uuid for hold in ours}
        usages_now = placement_client.usages(context, provider) or {}
        if all(usages_now.get(each) == usages[each] for each in others):
            return _choose_holds(ours, usages, excess)
        usages = usages_now
    return set()


def _choose_holds(holds, usages, excess):
    """Return the uuids of the holds to release so that the rest fits.

    :param excess: {resource class: overcommitted amount}
    """
    overcommitted = set()
    for hold in sorted(holds, key=_release_order, reverse=True):
        amounts = usages[hold.uuid]
        if any(amounts.get(name) for name in excess):
            overcommitted.add(hold.uuid)
            excess = {
                name: excess_amount - amounts.get(name, 0)
                for name, excess_amount in excess.items()
                if excess_amount > amounts.get(name, 0)
            }
    return overcommitted


def foreign_consumers(context, group_id, consumers):
    """Return the consumers that are neither holds nor servers of a group."""
    holds = VRTHold.list_by_uuids(context, consumers)
    own = {hold.uuid for hold in holds if hold.group_id == group_id}
    others = set(consumers) - own
    return others and others - VRTMember.server_uuids(context, group_id)


def _release_order(hold):
    is_committed = hold.status in states.HOLD_COMMITTED
    return not is_committed, hold.is_placeholder, hold.uuid
