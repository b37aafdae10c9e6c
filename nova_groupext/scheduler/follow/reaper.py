# SPDX-License-Identifier: Apache-2.0
"""What nobody else finishes, step by step.

Every step may be taken by several planners at once and as often as one likes:
what one has done, another finds done. What is unknown is not touched.

1. Groups that expired give up what nobody has redeemed.
2. Creates that nobody hears of any more are finished.
3. Servers are followed: who failed or was deleted frees its member.
4. Holds are compared with Placement, and with the hosts there are; those for
   resizes with the servers, too.
5. What was written down and came to nothing is marked as leaving.
6. What leaves is emptied in Placement and forgotten; on hosts that its group
   has to itself fillers take its place.
7. What no row knows of is looked for when Placement has more than the rows,
   and now and then in any case. A hold that has ended and is back is emptied:
   a planner that had stopped for very long has filled it, and died. Holds
   that our tables know nothing of are named and left alone: they may be
   another installation's.
8. Groups that were deleted are forgotten when nothing of them is left.
9. What is broken where everybody is now is noted as drift.

These have rounds of their own, which nothing above waits for. Decisions take
time; and Nova gives back what a deleted server had by itself:

10. Groups that wait to be planned, or that a planner has left, are served.
11. Members that have failed are placed anew, if the operator wants that.
12. What is free on hosts that groups have to themselves is held by fillers.
"""

from oslo_log import log as logging

from nova_groupext import notifications
from nova_groupext.conf import CONF
from nova_groupext.conf import vrt
from nova_groupext.db import clock
from nova_groupext.objects import states
from nova_groupext.objects import tombstones
from nova_groupext.objects import transitions
from nova_groupext.objects.group import VRTGroup
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.follow import audit
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.follow import resizes
from nova_groupext.scheduler.hold import emptying
from nova_groupext.scheduler.hold import exclusive
from nova_groupext.scheduler.look import hosts
from nova_groupext.scheduler.protocol import redeem

LOG = logging.getLogger(__name__)

Event = notifications.Event

# Rounds after which strays are looked for whatever the numbers say: an hour,
# unless the operator has chosen other intervals.
SEARCH_EVERY = 60


def expire(context):
    """Give up the members that nobody created in time."""
    for group in VRTGroup.list_expired(context):
        if transitions.expire(context, group):
            LOG.info('VRT group %s has expired.', group.uuid)
            notifications.of_group(context, Event.EXPIRE, group)


def to_conclude(context):
    """Return the members whose create nobody hears of any more."""
    return redeem.overdue(context)


def conclude(context, ledger, member):
    """Finish a create, if it is not finished yet."""
    hold = VRTHold.get_by_member(context, member.id)
    if hold is not None:
        redeem.finish(context, ledger, member, hold)


def to_follow():
    """Return what is looked at: servers, holds, hosts."""
    return (
        follow.follow_servers,
        follow.follow_holds,
        follow.follow_hosts,
        resizes.follow_growths,
    )


def abandon(context, ledger):
    """Mark those holds as leaving that never became their members'.

    Not what has been taken back from a server already: who follows that
    server finds it.
    """
    before = clock.now(-emptying.REQUEST_LIFETIME)
    holds = VRTHold.list_unfinished(context, before)
    redeemed = VRTHold.redeemed_by(context, [h.member_id for h in holds])
    left = [
        hold
        for hold in holds
        if hold.member_id not in redeemed
        or not ledger.allocations(context, hold.uuid)
    ]
    VRTHold.retire(context, left, is_answered=True)


def empty(context, ledger):
    """Give back what leaves."""
    leaving = VRTHold.list_by_status(context, states.Hold.LEAVING)
    exclusive.give_back(context, ledger, leaving)


class Strays:
    """Looks for strays when there seem to be some: it asks every provider.

    That is when there are more for two rounds than the orphans which were
    found last. A row that owns nothing yet, or any more, hides one from the
    count, so it is also every SEARCH_EVERY rounds.
    """

    def __init__(self):
        self._had_some = False
        self._rounds = 0
        self._orphans = 0

    def empty(self, context, ledger):
        """Give back the strays, if it is time to look for them."""
        self._rounds += 1
        had_some = self._had_some
        self._had_some = count_unknown(context, ledger) > self._orphans
        if (had_some and self._had_some) or self._rounds >= SEARCH_EVERY:
            self._rounds = 0
            self._orphans = empty_strays(context, ledger)


def count_unknown(context, ledger):
    """Return how much more is held in Placement than there are rows for.

    It is asked first: a row is there before its allocation. One that went
    meanwhile looks like a stray once, and not in the next round.
    """
    many, _amounts = ledger.total(context)
    return many - VRTHold.count(context, *states.MAY_OWN)


def empty_strays(context, ledger):
    """Give back holds that have ended and are back.

    :returns: how many are there that our tables know nothing of
    """
    orphans = 0
    for finding in audit.strays(context, ledger):
        is_stray = finding.kind == audit.Kind.STRAY
        LOG.warning(
            'Consumer %(consumer)s on provider %(provider)s is %(text)s; it '
            'is %(fate)s.',
            {
                'consumer': finding.consumer,
                'provider': finding.provider,
                'text': finding.text,
                'fate': 'given back'
                if is_stray
                else 'left alone: see "nova-groupext-manage holds audit"',
            },
        )
        if is_stray:
            empty_stray(context, ledger, finding)
        else:
            orphans += 1
    return orphans


def forget_tombstones(context):
    """Forget holds that have ended long ago."""
    tombstones.forget(context, clock.now(-CONF.vrt.tombstone_lifetime))


def empty_stray(context, ledger, finding):
    """Empty a consumer that has no row, so that no row can get it."""
    ledger.empty_consumer(context, finding.consumer)


def to_release(context):
    """Return the groups that were deleted and are still there."""
    return VRTGroup.list_releasing(context)


def to_serve(context):
    """Return the groups that wait for a planner, and that none works on.

    Those that a planner has left, which died or could not go on, are served
    whatever their state is.
    """
    return VRTGroup.list_waiting(context)


def to_replan(context):
    """Return [(group, elsewhere)] of the groups with members to place anew.

    That is {path: [the node where it has failed]}, see VRTGroup.elsewhere. A
    member that was tried often enough is not among them.
    """
    most = CONF.vrt.replan_failed
    if not most:
        return []
    groups = VRTGroup.list_with_failed(context, most)
    return [(group, _elsewhere(context, group, most)) for group in groups]


def _elsewhere(context, group, most):
    plan = VRTPlan.newest(context, group.id)
    nodes = plan.hosts() if plan else {}
    return {
        member.path: [nodes[member.path]] if member.path in nodes else []
        for member in group.members
        if member.status == states.Member.FAILED and member.replans < most
    }


def to_compare(context):
    """Return [(group, domains)] of the groups whose places may break rules."""
    groups = VRTGroup.list_with_policies(context)
    domains = groups and hosts.Domains(context, vrt.levels(CONF))
    return [(group, domains) for group in groups]


def to_keep(context):
    """Return the groups that have, or had, hosts to themselves.

    Not those whose fillers may change places at this moment.
    """
    exchanging = VRTGroup.exchanging(context)
    found = VRTGroup.list_exclusive(context)
    return [group for group in found if group.id not in exchanging]
