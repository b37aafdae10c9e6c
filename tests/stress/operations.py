# SPDX-License-Identifier: Apache-2.0
"""Random operations of the stress test's processes.

All code that writes to Placement or to our tables is the product's own; Nova
is a fake, see tests.services.fake_nova. Members go to random hosts, those of
an exclusive group to an empty one. A consumer with an allocation counts as a
server.
"""

import types

import fixtures
from nova import context as nova_context
from nova import exception as nova_exc
from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import member_ref
from nova_groupext import objects
from nova_groupext.api import revise
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import drafts
from nova_groupext.objects import releases
from nova_groupext.objects import states
from nova_groupext.scheduler import planner
from nova_groupext.scheduler import rpcapi
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.placement import client
from nova_groupext.scheduler.protocol import redeem as protocol
from nova_groupext.scheduler.redeem import redeem_path
from tests import groups
from tests.services import doubles
from tests.services import fake_nova
from tests.services import placement

# Maxima: members of a group, and VCPUs of a member or foreign consumer.
MAX_MEMBERS = 8
MAX_VCPUS = 3

# Share of groups with an exclusive host, and of those that grow.
SHARE_EXCLUSIVE = 0.2
EXCLUSIVE = {'type': 'exclusive', 'scope': 'host'}
SHARE_GROWING = 0.4
WORKER = 'worker'

# Seconds for which a server waits for its place at most.
WAIT_SECONDS = 4

# Lifetimes of holds to choose from; one expires during the test.
LIFETIMES_SECONDS = (1, 60, 60, 60)

# Shares of late creations, of planned hosts that Nova's filters reject, of
# lost answers of Placement, and of held members that a revision moves.
SHARE_LATE = 0.1
SHARE_REFUSED = 0.1
SHARE_LOST = 0.02
SHARE_MOVED = 0.5

# Seconds until a planner or a scheduler counts as dead; a request lives as
# long at most, so that one looks for late ones after that.
LEASE_SECONDS = 30
CHECK_DELAYS = (LEASE_SECONDS, 5 * LEASE_SECONDS, 3600, 86400)

# Exceptions with which an operation may end.
REFUSALS = (exception.VRTException, nova_exc.NoValidHost)


class SilentPlanners:
    """Planners that hear of nothing: they look for creates themselves."""

    def serve_group(self, _context, _group_uuid):
        """Accept a cast."""

    def replace_members(self, *_args, **_kwargs):
        return rpcapi.Outcome.NO_OTHER_HOST


class Operations(fixtures.Fixture):
    """Operations of one process.

    :ivar loses_next_answer: whether Placement's next answer is lost
    :param random: random.Random
    :param adapter: adapter to one Placement process
    :param providers: uuids of the hosts
    :param share_lost: share of the operations that lose an answer
    """

    def __init__(self, random, adapter, providers, share_lost=SHARE_LOST):
        super().__init__()
        self._random = random
        self._client = adapter
        self._providers = providers
        self._claims = []
        self._share_lost = share_lost
        self.loses_next_answer = False

    def _setUp(self):
        self.useFixture(fake_nova.FakeNova(self._servers))
        for name, value in (
            ('operation_lease', LEASE_SECONDS),
            ('redeem_replacement_time_limit', WAIT_SECONDS),
        ):
            CONF.set_override(name, value, 'vrt')
            self.addCleanup(CONF.clear_override, name, 'vrt')
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.scheduler.rpcapi.PlannerAPI', SilentPlanners
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.scheduler.protocol.release_holds.REQUEST_LIFETIME',
                LEASE_SECONDS,
            )
        )
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova_groupext.objects.watched_holds.CHECK_DELAYS',
                CHECK_DELAYS,
            )
        )
        self._context = nova_context.get_admin_context()
        self._nova_client = doubles.Client(self._client, self)
        self._placement_client = client.PlacementClient(self._nova_client)
        self._planner = planner.Planner(
            'planner', doubles.FixedPlan(self._random_placements)
        )
        self._planner._report_client = self._nova_client

    def run_operation(self, name):
        """Run an operation; return its outcome or the name of its error."""
        self.loses_next_answer = self._random.random() < self._share_lost
        try:
            return getattr(self, name)() or 'nothing'
        except REFUSALS as exc:
            return type(exc).__name__

    # -- planners ----------------------------------------------------------

    def plan(self):
        """Describe a group, and plan it."""
        is_exclusive = self._random.random() < SHARE_EXCLUSIVE
        values = {
            'policies': [groups.policy('', EXCLUSIVE)] if is_exclusive else [],
            'expires_in': self._random.choice(LIFETIMES_SECONDS),
        }
        if self._random.random() < SHARE_GROWING:
            group = self._random_workers(
                {'VCPU': self._random.randint(1, MAX_VCPUS)}, **values
            )
        else:
            number = self._random.randint(1, MAX_MEMBERS)
            group = self._random_members(number, **values)
        group.create(self._context)
        return self._plan(group)

    def revise(self):
        """Revise a group: members without servers move, end, or are new."""
        group = self._random_group(*states.GROUP_WITH_HOLDS)
        if group is None:
            return None
        draft = (
            self._revised_workers(group)
            if is_growing(group)
            else self._revised_members(group)
        )
        drafts.store(self._context, group, draft)
        return self._plan(draft)

    def _revised_workers(self, group):
        """Return a draft that allows other numbers of workers."""
        [workers] = group.member_sets
        draft = self._random_workers(
            workers.resolved_request,
            policies=group.policies,
            expires_in=group.expires_in,
            keep_server=False,
        )
        revise.set_members(group, draft)
        return draft

    def _random_workers(self, request, **values):
        """Return a group of counted members that may grow."""
        count = self._random.randint(1, MAX_MEMBERS // 2)
        workers = groups.member_set(
            WORKER,
            request,
            count=count,
            max_count=count + self._random.randint(0, 2),
            max_surge=self._random.randint(0, 2),
        )
        return groups.unstored(
            **groups.members_of(workers),
            **{'subgroups': [], 'relationships': [], **values},
        )

    def _revised_members(self, group):
        """Return a draft with other single members."""
        servers = [
            int(member.path.removeprefix('m-'))
            for member in group.members
            if member.status in states.MEMBER_HAS_SERVER
        ]
        return self._random_members(
            self._random.randint(max(servers, default=0) + 1, MAX_MEMBERS),
            earlier={
                each.path: each.resolved_request for each in group.member_sets
            },
            policies=group.policies,
            expires_in=group.expires_in,
        )

    def _random_members(self, number, earlier=None, **values):
        """Return a group of some members, not stored yet.

        :param earlier: {path: request} of the members that had one before
        """
        requests = {
            f'm-{index}': {'VCPU': self._random.randint(1, MAX_VCPUS)}
            for index in range(number)
        } | (earlier or {})
        return groups.unstored(
            **groups.members_of(
                *(
                    groups.member_set(f'm-{index}', requests[f'm-{index}'])
                    for index in range(number)
                )
            ),
            **{'subgroups': [], 'relationships': [], **values},
        )

    def _plan(self, group):
        """Plan a group or a draft, and return its status."""
        self._planner.serve_group(self._context, group.uuid)
        current_group = objects.VRTGroup.find(self._context, group.uuid)
        return 'done' if current_group is None else str(current_group.status)

    def beat(self):
        """Send a heartbeat, and serve the groups of killed planners."""
        self._planner.beat(self._context)
        self._planner.serve_waiting(self._context)
        return 'done'

    def _random_placements(self, group, current):
        """Return a function of a member, which returns a random placement."""
        exclusive_host = (
            self._find_empty_host() if group.has_policy('exclusive') else None
        )

        def random_placement(member):
            hold = current.held.get(member.path)
            stays = group.is_for_creates or (
                self._random.random() >= SHARE_MOVED
            )
            if hold is not None and stays:
                return hold.placement({})
            provider = exclusive_host or self._random.choice(self._providers)
            return groups.placement(provider, member.resolved_request['VCPU'])

        return random_placement

    def _find_empty_host(self):
        """Return a host that was empty a moment ago, or else any."""
        sampled = self._random.sample(self._providers, len(self._providers))
        return next(
            (
                p
                for p in sampled
                if not self._placement_client.usages(self._context, p)
            ),
            sampled[0],
        )

    def release(self):
        """Release some or all members of a group."""
        group = self._random_group(states.Group.HELD)
        if group is None:
            return None
        held = [
            each for each in group.members if each.status == states.Member.HELD
        ]
        released = self._random.sample(
            held, self._random.randint(0, len(held))
        )
        releases.release_members(self._context, group, released or None)
        return self._release(group)

    def delete(self):
        group = self._random_group(
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
        """Run a round of the reaper, without planning."""
        self._planner.reap(self._context)
        return 'done'

    def maintain(self):
        """Fill the free capacity of exclusive hosts."""
        self._planner.maintain_exclusive(self._context)
        return 'done'

    def _servers(self, context, uuids):
        """Return Nova's servers: those with an allocation are LIVE.

        Those that wait for a place are being created.
        """
        waiting = {
            uuid
            for create in db.find(context, models.Create)
            for uuid in create.server_uuids
        }
        return {
            uuid: servers.Server(self._outcome(context, uuid, waiting))
            for uuid in uuids
        }

    def _outcome(self, context, uuid, waiting):
        if self._is_server(context, uuid):
            return servers.ServerOutcome.LIVE
        if uuid in waiting:
            return servers.ServerOutcome.CREATING
        return servers.ServerOutcome.DELETED

    def _is_server(self, context, uuid):
        """Check whether a consumer owns something as a server.

        A planner that is killed while it sweeps the consumer of a deleted
        server leaves it with the type of a hold.
        """
        allocations = self._placement_client.allocations(context, uuid)
        return allocations and not self._placement_client.is_hold(
            context, uuid
        )

    # -- schedulers --------------------------------------------------------

    def redeem(self):
        """Create a server for a member; sometimes the request comes twice."""
        member = self._random_held_member()
        return member and self._create_as(member, member.path, 1)

    def redeem_two(self):
        """Create two servers at once, for any members that are alike."""
        member = self._random_held_member()
        return member and self._create_as(member, member.member_set, 2)

    def grow(self):
        """Create servers by the common name of workers, or one by a name.

        They become held members, grow the group, or become successors.
        """
        member = self._random_row(
            models.Member,
            models.Member.member_set == WORKER,
            models.Member.group_id == models.Group.id,
            models.Group.status.in_(states.GROUP_WITH_HOLDS),
            models.Group.revises_id.is_(None),
        )
        if member is None:
            return None
        group = objects.VRTGroup.find_by_id(self._context, member.group_id)
        index = self._random.randint(0, MAX_MEMBERS)
        path = self._random.choice((WORKER, f'{WORKER}-{index}'))
        count = self._random.choice((1, 1, 2)) if path == WORKER else 1
        return self._create(group, path, count)

    def _create_as(self, member, path, count):
        group = objects.VRTGroup.find_by_id(self._context, member.group_id)
        return self._create(group, path, count)

    def _create(self, group, path, count):
        spec = types.SimpleNamespace(
            project_id=group.project_id, user_id=group.user_id
        )
        uuids = [uuidutils.generate_uuid() for _server in range(count)]
        scheduler = doubles.Scheduler(self._nova_client)
        if self._random.random() < SHARE_REFUSED:
            scheduler = doubles.RejectingFilters(self._nova_client)
        for _delivery in range(self._random.choice((1, 1, 1, 2))):
            with redeem_path.as_no_valid_host(path):
                scheduler._redeem(
                    self._context,
                    member_ref.MemberRef(group.uuid, path),
                    spec,
                    uuids,
                )
        return 'done'

    def resolve_redeem(self):
        """Resolve the redeem of a member before its lease has expired."""
        member = self._random_member(states.Member.REDEEMING)
        hold = member and objects.VRTHold.find_by_member(
            self._context, member.id
        )
        if not hold:
            return None
        protocol.finish(self._context, self._placement_client, member, hold)
        return 'done'

    # -- foreign consumers -------------------------------------------------

    def claim_foreign(self):
        """Create an ordinary server."""
        consumer = uuidutils.generate_uuid()
        response = placement.claim(
            self._client,
            self._random.choice(self._providers),
            consumer,
            VCPU=self._random.randint(1, MAX_VCPUS),
        )
        if response.status_code != 204:
            return None
        self._claims.append(consumer)
        return 'done'

    def delete_foreign(self):
        """Delete an ordinary server."""
        if not self._claims:
            return None
        index = self._random.randrange(len(self._claims))
        return self._delete(self._claims.pop(index))

    def delete_server(self):
        """Delete the server of a member."""
        member = self._random_member(states.Member.ACTIVE)
        return member and self._delete(member.server_uuid)

    def delete_hold(self):
        """Remove a hold, as ``nova-manage placement audit --delete`` does."""
        row = self._random_row(
            models.Hold, models.Hold.status == states.Hold.HELD
        )
        return row and self._delete(row.uuid)

    def _delete(self, consumer):
        self._client.delete(f'/allocations/{consumer}')
        return 'done'

    # -- choice ------------------------------------------------------------

    def _random_row(self, model, *conditions):
        rows = db.find(self._context, model, *conditions)
        return self._random.choice(rows) if rows else None

    def _random_group(self, *statuses):
        row = self._random_row(
            models.Group,
            models.Group.status.in_(statuses),
            models.Group.revises_id.is_(None),
        )
        return row and objects.VRTGroup.find(self._context, row.uuid)

    def _random_held_member(self):
        """Return a held member, rarely one whose group has expired."""
        if self._random.random() < SHARE_LATE:
            return self._random_member(states.Member.HELD)
        return self._random_member(
            states.Member.HELD,
            models.Member.group_id == models.Group.id,
            models.Group.status.in_(states.GROUP_WITH_HOLDS),
            models.Group.expires_at > timeutils.utcnow(),
        )

    def _random_member(self, status, *conditions):
        row = self._random_row(
            models.Member, models.Member.status == status, *conditions
        )
        return row and objects.VRTMember.find_by_id(self._context, row.id)


def is_growing(group):
    """Check whether a group has counted members, which may be added."""
    return any(each.path == WORKER for each in group.member_sets)
