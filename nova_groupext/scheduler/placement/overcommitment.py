# SPDX-License-Identifier: Apache-2.0
"""Detection of holds that overcommit a provider.

Placement can overcommit a provider when two requests write at once, unless
the operator has configured it not to (see the admin guide). So what was
written is compared with the inventory, and surplus holds are released.
"""

from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember

IS_TOO_MUCH = 'there is less capacity than was held'


def overcommitted_holds(context, ledger, holds):
    """Return those of some holds that must be released.

    :param ledger: PlacementClient
    :param holds: VRTHold rows
    :raises: PlacementUnavailable
    """
    providers = {provider for hold in holds for provider in hold.allocations}
    lost = set()
    for provider in sorted(providers):
        used = ledger.used(context, provider) or {}
        lost |= overcommitted_on(context, ledger, provider, used)
    return [hold for hold in holds if hold.uuid in lost]


def overcommitted_on(context, ledger, provider, used):
    """Return the uuids of the holds that overcommit a provider.

    Every process uses the same order: uncommitted holds, placeholders, other
    holds; the highest uuid first; until the rest fits. Servers stay.

    :param used: result of PlacementClient.used()
    :raises: PlacementUnavailable
    """
    while excess := ledger.excess(context, provider, used):
        ours = VRTHold.list_by_uuids(context, used)
        # A hold's row outlives its allocation. So a consumer without a row is
        # a server if it is still there. If not, it may have been a hold that
        # was released, and no other hold must be released for it.
        others = used.keys() - {hold.uuid for hold in ours}
        now = ledger.used(context, provider) or {}
        if all(now.get(each) == used[each] for each in others):
            return _too_much(ours, used, excess)
        used = now
    return set()


def _too_much(holds, used, excess):
    """Return the uuids of the holds to release so that the rest fits.

    :param excess: {resource class: overcommitted amount}
    """
    lost = set()
    for hold in sorted(holds, key=_rank, reverse=True):
        amounts = used[hold.uuid]
        if any(amounts.get(name) for name in excess):
            lost.add(hold.uuid)
            excess = {
                name: over - amounts.get(name, 0)
                for name, over in excess.items()
                if over > amounts.get(name, 0)
            }
    return lost


def foreign_consumers(context, group_id, consumers):
    """Return the consumers that are neither holds nor servers of a group."""
    holds = VRTHold.list_by_uuids(context, consumers)
    own = {hold.uuid for hold in holds if hold.group_id == group_id}
    others = set(consumers) - own
    return others and others - VRTMember.server_uuids(context, group_id)


def _rank(hold):
    is_promised = hold.status in states.HOLD_COMMITTED
    return not is_promised, hold.is_placeholder, hold.uuid
