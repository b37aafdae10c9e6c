# SPDX-License-Identifier: Apache-2.0
"""What the processes of a storm do: one operation each, as the product does.

Of the product everything takes part that writes to Placement or to our
tables. Nova is played: a member's seat is any host that seems to have room,
one that is empty for groups that want to be alone, and a server is what owns
an allocation.
"""

import datetime
import types

from nova import context as nova_context
from nova import exception as nova_exc
from nova.scheduler.client import report
from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.scheduler import ledger
from nova_groupext.scheduler import releasing
from nova_groupext.scheduler.follow import follow
from nova_groupext.scheduler.follow import reaper
from nova_groupext.scheduler.follow import servers
from nova_groupext.scheduler.hold import exclusive
from nova_groupext.scheduler.hold import holding
from nova_groupext.scheduler.look import hosts
from nova_groupext.scheduler.redeem import concluding
from nova_groupext.scheduler.redeem import reserving
from tests import groups
from tests.services import placement

# Most members of a group, and VCPUs of a member or a stranger.
MEMBERS = 8
SIZE = 3

# How many of the groups have their hosts to themselves.
SHARE_ALONE = 0.2
ALONE = {'type': 'exclusive', 'scope': 'host'}

# Seconds until a planner or a scheduler counts as dead; a request lives as
# long at most.
LEASE = 10

# What an operation may end with, besides success.
REFUSALS = (
    exception.GenerationConflict,
    exception.GroupBusy,
    exception.GroupNotFound,
    exception.HoldFailed,
    exception.MemberStateConflict,
    exception.PlacementUnavailable,
    nova_exc.NoValidHost,
)


class Life:
    """One process's view of the cloud.

    :param random: random.Random
    :param client: adapter to one Placement process
    :param providers: uuids of the hosts
    """

    def __init__(self, random, client, providers):
        CONF.set_override('lease', LEASE, 'vrt')
        releasing.REQUEST_LIFETIME = LEASE
        servers.read = self._servers
        hosts.nodes = self._nodes
        self._random = random
        self._client = client
        self._providers = providers
        self._context = nova_context.get_admin_context()
        self._ledger = ledger.Ledger(report.SchedulerReportClient(client))
        self._claims = []

    def do(self, name):
        """Do an operation; returns 'done', 'nothing' or why it was refused."""
        try:
            outcome = getattr(self, name)()
        except REFUSALS as exc:
            return type(exc).__name__
        return 'nothing' if outcome is None else 'done'

    # -- planners ----------------------------------------------------------

    def plan(self):
        is_alone = self._random.random() < SHARE_ALONE
        group = groups.alike(
            self._random.randint(1, MEMBERS),
            policies=[groups.policy('', ALONE)] if is_alone else [],
        )
        group.create(self._context)
        return self._plan(group)

    def plan_again(self):
        """Plan a group whose planner died."""
        left = reaper.to_plan(self._context)
        return self._plan(self._random.choice(left)) if left else None

    def _plan(self, group):
        intent = self._acquire(group, objects.VRTIntent.PLAN)
        try:
            old = objects.VRTHold.list_by_group(
                self._context, group.id, states.Hold.WRITING
            )
            objects.VRTHold.retire(self._context, old, is_answered=False)
            releasing.give_back(self._context, group, self._ledger)
            return self._hold(objects.VRTGroup.get(self._context, group.uuid))
        finally:
            intent.fulfil(self._context)

    def _acquire(self, group, operation):
        return objects.VRTIntent.acquire(
            self._context, group, operation, 'storm', LEASE
        )

    def _hold(self, group):
        plan = objects.VRTPlan(placement=self._placement(group))
        try:
            rows = self._write(group, plan)
        except exception.HoldFailed:
            group.change(self._context, states.Group.UNDECIDED)
            raise
        expires_at = timeutils.utcnow() + datetime.timedelta(
            seconds=self._random.choice((1, 60))
        )
        try:
            transitions.hold(self._context, group, rows, expires_at)
        except exception.GenerationConflict:
            holding.undo(self._context, rows, self._ledger)
            raise
        return group

    def _write(self, group, plan):
        fillers = exclusive.fillers(self._context, self._ledger, group, plan)
        rows = holding.write_down(
            self._context, group.members, plan.placement, fillers
        )
        holding.hold(self._context, rows, self._ledger, renew=lambda: None)
        try:
            exclusive.refuse_strangers(
                self._context, self._ledger, group, rows
            )
        except exception.HoldFailed:
            holding.undo(self._context, rows, self._ledger)
            raise
        return rows

    def _placement(self, group):
        providers = self._providers
        if group.has_policy('exclusive'):
            providers = [self._empty()]
        return {
            each.path: groups.seat(
                self._random.choice(providers), self._random.randint(1, SIZE)
            )
            for each in group.members
        }

    def _empty(self):
        """Return a host that was empty a moment ago, or else any."""
        some = self._random.sample(self._providers, len(self._providers))
        return next(
            (p for p in some if not self._ledger.used(self._context, p)),
            some[0],
        )

    def release(self):
        """Give up some members of a group, or all of them."""
        group = self._any_group(states.Group.HELD)
        if group is None:
            return None
        held = [
            each for each in group.members if each.status == states.Member.HELD
        ]
        some = self._random.sample(held, self._random.randint(0, len(held)))
        transitions.give_up(self._context, group, some or None)
        self._keep(group)
        releasing.give_back(self._context, group, self._ledger)
        return group

    def delete(self):
        group = self._any_group(*states.HOLDS, states.Group.UNDECIDED)
        if group is None:
            return None
        group.mark_deleted(self._context)
        return self._release(group)

    def _release(self, group):
        intent = self._acquire(group, objects.VRTIntent.RELEASE)
        try:
            self._keep(group)
            releasing.release(self._context, group, self._ledger)
        finally:
            intent.fulfil(self._context)
        return group

    def reap(self):
        """One round of the reaper, but for planning."""
        reaper.expire(self._context)
        for member in reaper.to_conclude(self._context):
            reaper.conclude(self._context, self._ledger, member)
        follow.follow_servers(self._context, self._ledger)
        follow.follow_holds(self._context, self._ledger)
        reaper.abandon(self._context)
        reaper.empty(self._context, self._ledger)
        for group in reaper.to_release(self._context):
            self._release(group)
        self.keep()
        return True

    def keep(self):
        """Fill what is free where groups are alone."""
        for group in reaper.to_keep(self._context):
            self._keep(group)
        return True

    def _keep(self, group):
        exclusive.keep(self._context, self._ledger, group, set())

    @staticmethod
    def _nodes(_context, host):
        """A host is named like its provider."""
        node = types.SimpleNamespace(
            host=host, hypervisor_hostname=host, uuid=host
        )
        return [node]

    def _servers(self, context, uuids):
        """What of servers Nova would know: those that are, own something."""
        return {
            uuid: servers.Server(
                servers.Fate.LIVE
                if self._ledger.allocations(context, uuid)
                else servers.Fate.DELETED
            )
            for uuid in uuids
        }

    # -- schedulers --------------------------------------------------------

    def redeem(self):
        """Create a server for a member; sometimes the request comes twice."""
        member = self._any_member(states.Member.HELD)
        if member is None:
            return None
        server = uuidutils.generate_uuid()
        for _delivery in range(self._random.choice((1, 1, 1, 2))):
            self._redeem(member.path, member.id, server)
        return member

    def _redeem(self, path, member_id, server):
        [(_uuid, member, hold)] = reserving.reserve(
            self._context,
            self._ledger,
            path,
            lambda: objects.VRTMember.list_by_ids(self._context, [member_id]),
            [server],
        )
        if hold.status == states.Hold.REDEEMED:
            return
        if self._random.random() < 0.1:
            # Its host did not pass a filter.
            concluding.conclude(self._context, self._ledger, member, hold)
        elif self._ledger.swap(
            self._context, {server: hold}, 'project', 'user'
        ):
            if not concluding.close(self._context, self._ledger, member, hold):
                concluding.prevails(self._context, self._ledger, member)
        else:
            concluding.conclude(self._context, self._ledger, member, hold)

    def conclude(self):
        """Ask too early what became of a create."""
        member = self._any_member(states.Member.REDEEMING)
        hold = member and objects.VRTHold.get_by_member(
            self._context, member.id
        )
        if not hold:
            return None
        return concluding.conclude(self._context, self._ledger, member, hold)

    # -- strangers ---------------------------------------------------------

    def claim(self):
        """An ordinary server is created."""
        consumer = uuidutils.generate_uuid()
        response = placement.claim(
            self._client,
            self._random.choice(self._providers),
            consumer,
            VCPU=self._random.randint(1, SIZE),
        )
        if response.status_code != 204:
            return None
        self._claims.append(consumer)
        return consumer

    def leave(self):
        """An ordinary server is deleted."""
        if not self._claims:
            return None
        place = self._random.randrange(len(self._claims))
        return self._delete(self._claims.pop(place))

    def delete_server(self):
        """The server of a member is deleted."""
        member = self._any_member(states.Member.ACTIVE)
        return member and self._delete(member.server_uuid)

    def delete_hold(self):
        """Somebody removes a hold, as ``placement audit --delete`` does."""
        row = self._any(models.Hold, models.Hold.status == states.Hold.HELD)
        return row and self._delete(row.uuid)

    def _delete(self, consumer):
        self._client.delete(f'/allocations/{consumer}')
        return consumer

    # -- choice ------------------------------------------------------------

    def _any(self, model, *conditions):
        rows = db.find(self._context, model, *conditions)
        return self._random.choice(rows) if rows else None

    def _any_group(self, *statuses):
        row = self._any(models.Group, models.Group.status.in_(statuses))
        return row and objects.VRTGroup.find(self._context, row.uuid)

    def _any_member(self, status):
        row = self._any(models.Member, models.Member.status == status)
        return row and objects.VRTMember.find_by_id(self._context, row.id)
