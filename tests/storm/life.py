# SPDX-License-Identifier: Apache-2.0
"""What the processes of a storm do: one operation each, as the product does.

All of the product takes part that writes to Placement or to our tables. Nova
is played, see tests.services.played: a member's seat is any host, one that is
empty for groups that want to be alone, and a server is what owns an
allocation.
"""

import types
import weakref

import fixtures
from nova import context as nova_context
from nova import exception as nova_exc
from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext import pointer
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.placement import placement_client
from nova_groupext.scheduler.protocol import redeem as protocol
from nova_groupext.scheduler.redeem import redeem_path
from tests import groups
from tests.services import placement
from tests.services import played
from tests.services import players

# Most members of a group, and VCPUs of a member or a stranger.
MEMBERS = 8
SIZE = 3

# How many of the groups have their hosts to themselves.
SHARE_ALONE = 0.2
ALONE = {'type': 'exclusive', 'scope': 'host'}

# Seconds for which groups are held; most of them long enough.
LIVES = (1, 60, 60, 60)

# How many creates may come too late, how many of the planned hosts Nova's
# filters refuse, how many answers of Placement are lost, and how many of the
# held members a revision moves.
SHARE_LATE = 0.1
SHARE_REFUSED = 0.1
SHARE_LOST = 0.02
SHARE_MOVED = 0.5

# Seconds until a planner or a scheduler counts as dead; a request lives as
# long at most, so that one looks for late ones after that.
LEASE = 30
WATCHES = (LEASE, 5 * LEASE, 3600, 86400)

# What an operation may end with, besides success.
REFUSALS = (exception.VRTException, nova_exc.NoValidHost)


class Life(fixtures.Fixture):
    """One process's view of the cloud.

    :ivar loses_answer: whether Placement's next answer to a change is lost
    :param random: random.Random
    :param client: adapter to one Placement process
    :param providers: uuids of the hosts
    :param share_lost: of the operations that lose an answer
    """

    def __init__(self, random, client, providers, share_lost=SHARE_LOST):
        super().__init__()
        self._random = random
        self._client = client
        self._providers = providers
        self._claims = []
        # {planning: the host that its members want to themselves}
        self._homes = weakref.WeakKeyDictionary()
        self._share_lost = share_lost
        self.loses_answer = False

    def _setUp(self):
        self.useFixture(played.Nova(self._servers))
        self.useFixture(
            fixtures.MonkeyPatch(
                'tests.services.players.Seating._wish',
                lambda planning, member: self._wish(planning, member),
            )
        )
        CONF.set_override('operation_lease', LEASE, 'vrt')
        self.addCleanup(CONF.clear_override, 'operation_lease', 'vrt')
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.scheduler.protocol.release_holds.REQUEST_LIFETIME',
                LEASE,
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.objects.hold_search.WATCHES', WATCHES
            )
        )
        self._context = nova_context.get_admin_context()
        self._nova = players.Client(self._client, self)
        self._ledger = placement_client.PlacementClient(self._nova)
        self._planner = planner.Planner('planner')
        self._planner._client = self._nova

    def do(self, name):
        """Do an operation; returns what it came to, or why it was refused."""
        self.loses_answer = self._random.random() < self._share_lost
        try:
            return getattr(self, name)() or 'nothing'
        except REFUSALS as exc:
            return type(exc).__name__

    # -- planners ----------------------------------------------------------

    def plan(self):
        """Describe a group, and plan it."""
        is_alone = self._random.random() < SHARE_ALONE
        group = groups.alike(
            self._random.randint(1, MEMBERS),
            policies=[groups.policy('', ALONE)] if is_alone else [],
            expires_in=self._random.choice(LIVES),
        )
        self._ask(group, {})
        group.create(self._context)
        return self._plan(group)

    def revise(self):
        """Describe a group anew: who is no server moves, comes or goes."""
        group = self._any_group(*states.GROUP_WITH_HOLDS)
        if group is None:
            return None
        servers = [
            int(member.path.removeprefix('m-'))
            for member in group.members
            if member.status in states.MEMBER_HAS_SERVER
        ]
        draft = groups.alike(
            self._random.randint(max(servers, default=0) + 1, MEMBERS),
            policies=group.policies,
            expires_in=group.expires_in,
        )
        self._ask(draft, {each.path: each.request for each in group.members})
        revisions.start(self._context, group, draft)
        return self._plan(draft)

    def _ask(self, group, known):
        """Let members ask for so many VCPUs; each has one size for ever.

        :param known: {path: request} of those who were there before
        """
        for member in group.members:
            vcpus = self._random.randint(1, SIZE)
            member.request = known.get(member.path, {'VCPU': vcpus})

    def _plan(self, group):
        """Return what a group, or a draft, became."""
        self._planner.serve_group(self._context, group.uuid)
        now = objects.VRTGroup.find(self._context, group.uuid)
        return 'done' if now is None else str(now.status)

    def beat(self):
        """Give a sign of life, and serve what planners that died have left."""
        self._planner.beat(self._context)
        self._planner.serve_waiting(self._context)
        return 'done'

    def _wish(self, planning, member):
        """Return where a planner wants to have a member that is no server."""
        hold = planning._standing.held.get(member.path)
        if hold is not None and self._random.random() >= SHARE_MOVED:
            return hold.seat({})
        provider = self._random.choice(self._providers)
        if planning._group.has_policy('exclusive'):
            if planning not in self._homes:
                self._homes[planning] = self._empty()
            provider = self._homes[planning]
        return groups.seat(provider, member.request['VCPU'])

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
        return self._release(group)

    def delete(self):
        group = self._any_group(
            *states.GROUP_WITH_HOLDS, states.Group.UNDECIDED
        )
        if group is None:
            return None
        group.mark_deleted(self._context)
        return self._release(group)

    def _release(self, group):
        self._planner.serve_group(self._context, group.uuid)
        return 'done'

    def reap(self):
        """One round of the reaper, but for planning."""
        self._planner.reap(self._context)
        return 'done'

    def keep(self):
        """Fill what is free where groups are alone."""
        self._planner.keep_exclusive(self._context)
        return 'done'

    def _servers(self, context, uuids):
        """What of servers Nova would know: those that are, own something."""
        return {
            uuid: servers.Server(
                servers.ServerOutcome.LIVE
                if self._ledger.allocations(context, uuid)
                else servers.ServerOutcome.DELETED
            )
            for uuid in uuids
        }

    # -- schedulers --------------------------------------------------------

    def redeem(self):
        """Create a server for a member; sometimes the request comes twice."""
        member = self._any_held()
        return member and self._create(member, member.path, 1)

    def redeem_some(self):
        """Create two servers at once, for any members that are alike."""
        member = self._any_held()
        return member and self._create(member, member.stem, 2)

    def _create(self, member, path, many):
        group = objects.VRTGroup.brief(self._context, member.group_id)
        spec = types.SimpleNamespace(
            project_id=group.project_id, user_id=group.user_id
        )
        uuids = [uuidutils.generate_uuid() for _server in range(many)]
        scheduler = players.Scheduler(self._nova)
        if self._random.random() < SHARE_REFUSED:
            scheduler = players.Refusing(self._nova)
        for _delivery in range(self._random.choice((1, 1, 1, 2))):
            with redeem_path.as_no_valid_host(path):
                scheduler._redeem(
                    self._context,
                    pointer.Pointer(group.uuid, path),
                    spec,
                    uuids,
                )
        return 'done'

    def conclude(self):
        """Ask too early what became of a create."""
        member = self._any_member(states.Member.REDEEMING)
        hold = member and objects.VRTHold.get_by_member(
            self._context, member.id
        )
        if not hold:
            return None
        protocol.finish(self._context, self._ledger, member, hold)
        return 'done'

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
        return 'done'

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
        return 'done'

    # -- choice ------------------------------------------------------------

    def _any(self, model, *conditions):
        rows = db.find(self._context, model, *conditions)
        return self._random.choice(rows) if rows else None

    def _any_group(self, *statuses):
        row = self._any(
            models.Group,
            models.Group.status.in_(statuses),
            models.Group.revises_id.is_(None),
        )
        return row and objects.VRTGroup.find(self._context, row.uuid)

    def _any_held(self):
        """Return a member that is held; few creates come too late."""
        if self._random.random() < SHARE_LATE:
            return self._any_member(states.Member.HELD)
        return self._any_member(
            states.Member.HELD,
            models.Member.group_id == models.Group.id,
            models.Group.status.in_(states.GROUP_WITH_HOLDS),
            models.Group.expires_at > timeutils.utcnow(),
        )

    def _any_member(self, status, *conditions):
        row = self._any(
            models.Member, models.Member.status == status, *conditions
        )
        return row and objects.VRTMember.find_by_id(self._context, row.id)
