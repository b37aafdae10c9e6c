# SPDX-License-Identifier: Apache-2.0
"""Is there as much as is held?

Placement can overcommit a provider when two write at once, unless the
operator has configured it not to (see the admin guide). So what was written
is compared with what there is, and whoever was too much gives back.
"""

from nova_groupext.objects import states
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.member import VRTMember

IS_TOO_MUCH = 'there is less capacity than was held'


def losers(context, ledger, holds):
    """Return those of some holds that have to be given back.

    :param ledger: ledger.Ledger
    :param holds: VRTHold rows
    :raises: PlacementUnavailable
    """
    providers = {provider for hold in holds for provider in hold.allocations}
    lost = set()
    for provider in sorted(providers):
        used = ledger.used(context, provider) or {}
        lost |= losers_on(context, ledger, provider, used)
    return [hold for hold in holds if hold.uuid in lost]


def losers_on(context, ledger, provider, used):
    """Return the uuids of the holds that are too much for a provider.

    Everybody who looks comes to the same: what is promised to nobody goes
    first, then fillers, then the highest uuid, until the rest fits. Servers
    stay.

    :param used: what Ledger.used() has returned
    :raises: PlacementUnavailable
    """
    while excess := ledger.excess(context, provider, used):
        ours = VRTHold.list_by_uuids(context, used)
        # A hold's row is there for longer than its allocation. So what has
        # no row is a server's, if it is still there; else it was perhaps a
        # hold, that has given way and is no reason for another to do so.
        others = used.keys() - {hold.uuid for hold in ours}
        now = ledger.used(context, provider) or {}
        if all(now.get(each) == used[each] for each in others):
            return _too_much(ours, used, excess)
        used = now
    return set()


def _too_much(holds, used, excess):
    """Return the uuids of those holds without which the rest fits.

    :param excess: {resource class: how much too much of it is used}
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


def strangers(context, group_id, consumers):
    """Return those consumers that are neither holds nor servers of a group."""
    holds = VRTHold.list_by_uuids(context, consumers)
    own = {hold.uuid for hold in holds if hold.group_id == group_id}
    others = set(consumers) - own
    return others and others - VRTMember.server_uuids(context, group_id)


def _rank(hold):
    is_promised = hold.status in states.PROMISED
    return not is_promised, hold.is_filler, hold.uuid
