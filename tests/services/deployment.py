# SPDX-License-Identifier: Apache-2.0
"""Groups, planners, schedulers and reapers on a real Placement, without Nova.

The tests decide the plans and answer for Nova. All code that writes is the
product's own.
"""

import collections
import dataclasses
import functools
import itertools
import logging
import types

import fixtures
from nova import context as nova_context
from nova import exception as nova_exc
from oslo_utils import timeutils
from oslo_utils import uuidutils
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext import faultpoints
from nova_groupext import member_ref
from nova_groupext import objects
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import drafts
from nova_groupext.objects import placeholder_holds
from nova_groupext.objects import releases
from nova_groupext.objects import states
from nova_groupext.objects.create import VRTCreate
from nova_groupext.objects.member import VRTMember
from nova_groupext.objects.member_set import Matching
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.current import locations
from nova_groupext.scheduler.move import destinations
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.placement import client
from nova_groupext.scheduler.protocol import leases
from nova_groupext.scheduler.protocol import release_holds
from nova_groupext.scheduler.redeem import redeem_path
from tests import fixtures as test_fixtures
from tests import groups
from tests import rounds
from tests.services import databases
from tests.services import doubles
from tests.services import fake_nova
from tests.services import ownership
from tests.services import placement
from tests.services import process_fixtures

PROJECT = 'project'
MEMBER_VCPUS = fake_nova.MEMBER_VCPUS
# Resolved requests of members, and of a server that is to be resized
FLAVOR, SMALL = (
    {
        'flavor_id': name,
        'image_id': None,
        'image': None,
        'is_bfv': True,
        'flavor': {
            'nova_object.data': {
                'id': name,
                'name': name,
                'vcpus': vcpus,
                'memory_mb': 0,
            }
        },
    }
    for name, vcpus in (('medium', MEMBER_VCPUS), ('small', 1))
)
# Long enough for every lease, and for a request that is under way.
LATER = 1 + max(300, release_holds.REQUEST_LIFETIME)

# Seconds for which the server of a create waits for a place.
CREATE_SECONDS = 60

# Exceptions with which an operation may end, besides success.
REFUSALS = (exception.VRTException, nova_exc.NoValidHost)


class ProcessKilled(BaseException):
    """The end of a process without cleaning up; no code catches it."""


class Deployment(fixtures.Fixture):
    """A cloud as far as holds are concerned, with a clock of the test's.

    :ivar server_outcomes: {server uuid: ServerOutcome} in Nova
    :ivar server_hosts: {server uuid: provider} in Nova
    :ivar server_flavors: {server uuid: id of its flavor} in Nova
    :ivar moving_servers: uuids of the servers that Nova moves
    :ivar shelved_servers: uuids of the servers that are shelved
    :ivar disabled_hosts: hosts that are out of service
    :param connect: returns a client of Placement; called without arguments
    """

    def __init__(self, connect):
        super().__init__()
        self._connect = connect
        self.context = nova_context.get_admin_context()
        self.admin = connect()
        self.server_outcomes = {}
        self.server_hosts = {}
        self.server_flavors = {}
        self.moving_servers, self.shelved_servers = set(), set()
        self.disabled_hosts = set()
        self.providers = []
        self.loses_next_answer = False

    def _setUp(self):
        self.useFixture(test_fixtures.Clock())
        CONF.set_override('holds_per_request', 2, 'vrt')
        self.addCleanup(CONF.clear_override, 'holds_per_request', 'vrt')
        self.useFixture(
            fake_nova.FakeNova(self._servers, self._out_of_service)
        )
        # Without their debug lines, which would fill every failure's log.
        for name in ('keystoneauth', 'urllib3'):
            logger = logging.getLogger(name)
            self.addCleanup(logger.setLevel, logger.level)
            logger.setLevel(logging.INFO)

    def _servers(self, _context, uuids):
        return {
            uuid: servers.Server(
                self.server_outcomes[uuid],
                self.server_hosts.get(uuid),
                self.server_hosts.get(uuid),
                is_moving=uuid in self.moving_servers,
                is_shelved=uuid in self.shelved_servers,
                flavor=self.server_flavors.get(uuid),
            )
            for uuid in uuids
            if uuid in self.server_outcomes
        }

    def _out_of_service(self, _context, nodes):
        return {node for node in nodes if node[0] in self.disabled_hosts}

    def reset(self):
        """Empty our tables, and forget all servers and providers."""
        test_fixtures.delete_all_rows()
        for each in self.nova_state():
            each.clear()

    def nova_state(self):
        """Return the collections that Nova answers from."""
        return (
            *(self.server_outcomes, self.server_hosts, self.server_flavors),
            *(self.moving_servers, self.shelved_servers, self.providers),
        )

    # -- who takes part ----------------------------------------------------

    def client(self):
        return doubles.Client(self._connect(), self)

    def placement_client(self):
        return client.PlacementClient(self.client())

    def leases(self):
        """Return the leases of another planner."""
        return leases.Leases('another')

    def planner(self):
        other = planner.Planner('planner', doubles.FixedPlan())
        other._report_client = self.client()
        return other

    # -- what is done ------------------------------------------------------

    def make_provider(self, slots):
        """Make a provider with capacity for ``slots`` members."""
        provider = placement.make_provider(
            self.admin, VCPU=MEMBER_VCPUS * slots
        )
        self.providers.append(provider)
        return provider

    def describe(self, providers, policies=()):
        """Store an unplanned group with one member for each provider."""
        group = _unstored_group(
            {f'm-{number}': each for number, each in enumerate(providers)},
            policies,
        )
        group.create(self.context)
        return group.uuid

    def revise(self, uuid, providers, policies=(), adopts=()):
        """Store a group's next definition, unplanned.

        :param providers: {member path: its provider}
        :param adopts: (member path, server uuid) pairs
        :returns: the draft's uuid
        """
        group, draft = self.group(uuid), _unstored_group(providers, policies)
        servers = dict(adopts)
        for member in draft.members:
            member.server_uuid = servers.get(member.path)
        draft.member_sets[0].resolved_request = group.member_sets[
            0
        ].resolved_request
        drafts.store(self.context, group, draft)
        return draft.uuid

    def allow_members(self, uuid, placements, **counts):
        """Change a description: a counted member may have more servers.

        :param placements: {member path: its provider}
        :param counts: ``max_count`` or ``max_surge``
        """
        [described] = self.group(uuid).member_sets
        planned = {
            path: dataclasses.asdict(groups.placement(provider, MEMBER_VCPUS))
            for path, provider in placements.items()
        }
        described.update_row(
            self.context,
            description={
                **described.description,
                **counts,
                'placements': {
                    **described.description['placements'],
                    **planned,
                },
            },
        )

    def start_create(self, uuid, path, server):
        """Store a create whose server waits for a place, as a scheduler does.

        :returns: VRTCreate
        """
        self.server_outcomes[server] = servers.ServerOutcome.CREATING
        [described] = self.group(uuid).member_sets
        return VRTCreate.start(
            *(self.context, self.group(uuid), path),
            *(Matching.of([described]), [server]),
            seconds=CREATE_SECONDS,
            limit=CONF.vrt.max_waiting_creates,
            project_limit=CONF.vrt.max_waiting_creates_per_project,
        )

    def plan(self, uuid):
        self.planner().serve_group(self.context, uuid)

    def hold_group(self, providers):
        uuid = self.describe(providers)
        self.plan(uuid)
        return uuid

    def redeem(self, uuid, path, server=None, scheduler=doubles.Scheduler):
        """Redeem a member; returns the uuid of its server.

        :raises: nova.exception.NoValidHost
        """
        server = server or uuidutils.generate_uuid()
        self.redeem_all(uuid, path, [server], scheduler)
        return server

    def redeem_all(
        self, uuid, path, server_uuids, scheduler=doubles.Scheduler
    ):
        """Redeem a member for each of some servers of one request.

        :param path: of one member, or a member set
        :raises: nova.exception.NoValidHost
        """
        self.server_outcomes.update(
            dict.fromkeys(server_uuids, servers.ServerOutcome.CREATING)
        )
        try:
            with redeem_path.as_no_valid_host(path):
                scheduler(self.client())._redeem(
                    self.context,
                    member_ref.MemberRef(uuid, path),
                    types.SimpleNamespace(project_id=PROJECT, user_id='user'),
                    server_uuids,
                )
        except BaseException:
            # Nova buries unscheduled servers in its cell0.
            outcome = servers.ServerOutcome.UNSCHEDULED
            self.server_outcomes.update(dict.fromkeys(server_uuids, outcome))
            raise
        self.server_outcomes.update(
            dict.fromkeys(server_uuids, servers.ServerOutcome.LIVE)
        )

    def reserve_resize(self, uuid, provider, path='m-0'):
        """Hold for a resize of a member's server.

        :returns: VRTHold of the reservation
        """
        member = self.member(uuid, path)
        member.update_row(self.context, server_request=SMALL)
        reservation = objects.VRTHold.reservation(
            member, groups.placement(provider, MEMBER_VCPUS)
        )
        reservation.create(self.context)
        self.placement_client().hold(self.context, [reservation])
        placeholder_holds.commit(self.context, self.group(uuid), [reservation])
        reservation.status = states.Hold.HELD
        return reservation

    def move_server(self, uuid, path, provider, claim=None):
        """Move a member's server to a provider, as the scheduler does.

        :param claim: claims the capacity; called without arguments
        :returns: whether the server moves
        """
        location = locations.Location(provider, provider)
        move = destinations.Move(
            self.context, self.group(uuid), self.member(uuid, path), {location}
        )
        request = types.SimpleNamespace(move=move, location=location)
        claim = claim or (lambda: self.fill(provider))
        return destinations.claim(self.context, request, claim)

    def move_server_by_hints(self, ref, server, provider, claim):
        """Move a server that may be a member, by its hints.

        :param ref: member_ref.MemberRef of its hints, or None
        :param claim: claims the capacity; called without arguments
        """
        location = locations.Location(provider, provider)
        group = member = None
        if ref is not None:
            group, member = destinations.find_member(self.context, ref, server)
        if member is None:
            return claim()
        move = destinations.Move(self.context, group, member, {location})
        if not move.allows(location):
            return False
        request = types.SimpleNamespace(move=move, location=location)
        return destinations.claim(self.context, request, claim)

    def clear_provider(self, provider):
        """Remove all allocations on a provider."""
        self.delete_allocations(
            *(c for c, at in self.allocations().items() if provider in at)
        )

    def request_release(self, uuid, *paths):
        """Release members as the API does, before any write to Placement."""
        group = self.group(uuid)
        named = [each for each in group.members if each.path in paths]
        releases.release_members(self.context, group, named or None)

    def mark_deleted(self, uuid):
        """Delete a group as the API does, before any write to Placement."""
        self.group(uuid).mark_deleted(self.context)

    def release(self, uuid):
        self.planner().serve_group(self.context, uuid)

    def delete(self, uuid):
        self.mark_deleted(uuid)
        self.release(uuid)

    def delete_allocations(self, *consumers):
        """Remove allocations in Placement, without a change of our rows."""
        for consumer in consumers:
            self.admin.delete(f'/allocations/{consumer}')

    def resize_provider(self, provider, slots):
        """Set the capacity of a provider, in members, by its reservation."""
        path = f'/resource_providers/{provider}/inventories/VCPU'
        inventory = self.admin.get(path).json()
        reserved = inventory['total'] - max(0, slots) * MEMBER_VCPUS
        self.admin.put(path, json={**inventory, 'reserved': reserved})

    def fill(self, provider, slots=1, consumer=None):
        consumer = consumer or uuidutils.generate_uuid()
        placement.claim(
            self.admin, provider, consumer, VCPU=slots * MEMBER_VCPUS
        )
        return consumer

    def expire(self, uuid):
        """Set a group's expiry to now, before a reaper releases its holds."""
        db.compare_and_set(
            self.context,
            models.Group,
            models.Group.uuid == uuid,
            expires_at=timeutils.utcnow(),
        )
        timeutils.advance_time_seconds(1)

    def lose_next_answer(self):
        """Make Placement execute the next POST without an answer."""
        self.loses_next_answer = True

    def reap(self, seconds=LATER):
        """Run a round of a planner's reaper, some time later."""
        timeutils.advance_time_seconds(seconds)
        rounds.reap(self.planner(), self.context)
        self.maintain_exclusive()

    def maintain_exclusive(self):
        """Fill the free capacity of exclusive hosts with placeholders."""
        self.planner().maintain_exclusive(self.context)

    # -- what there is -----------------------------------------------------

    def group(self, uuid):
        return objects.VRTGroup.get(self.context, uuid)

    def find_group(self, uuid):
        return objects.VRTGroup.find(self.context, uuid)

    def member(self, uuid, path):
        return VRTMember.get_by_path(
            self.context, uuid, path, project_id=PROJECT
        )

    def hold(self, uuid, path):
        member = self.member(uuid, path)
        return objects.VRTHold.find_by_member(self.context, member.id)

    def held_providers(self, uuid):
        """Return {member path: provider} of holds in HELD and EXCHANGING."""
        paths = {each.id: each.path for each in self.group(uuid).members}
        return {
            paths[hold.member_id]: hold.provider_uuid
            for hold in self.ownership().holds
            if hold.status in (states.Hold.HELD, states.Hold.EXCHANGING)
            and hold.member_id in paths
        }

    def status_counts(self, uuid):
        """Return {state: number of members}."""
        return collections.Counter(
            str(member.status) for member in self.group(uuid).members
        )

    def row_counts(self):
        """Return {table: number of rows} of groups and their holds."""
        rows = test_fixtures.row_counts()
        # By these, projects take turns; they stay.
        rows.pop('vrt_project_locks', None)
        return rows

    def allocations(self):
        """Return {consumer: allocations} of all consumers in Placement."""
        allocations = collections.defaultdict(dict)
        placement_client = self.placement_client()
        for provider in self.providers:
            used = placement_client.usages(self.context, provider)
            for consumer, amounts in used.items():
                allocations[consumer][provider] = {'resources': amounts}
        return dict(allocations)

    def ownership(self):
        """Return the owners of capacity by our rows."""
        holds = objects.VRTHold.list_by_status(
            self.context, *states.HOLD_HAS_NOT_ENDED
        )
        members = VRTMember.list_by_ids(
            self.context, [hold.member_id for hold in holds]
        )
        return ownership.Ownership(
            holds, {member.id: member for member in members}
        )


def _unstored_group(providers, policies=()):
    described = groups.member_set(
        'm',
        FLAVOR,
        count=len(providers),
        placements={
            path: dataclasses.asdict(groups.placement(provider, MEMBER_VCPUS))
            for path, provider in providers.items()
        },
    )
    return groups.unstored(
        project_id=PROJECT,
        expires_in=1000 * LATER,
        subgroups=[],
        policies=[groups.policy('', each) for each in policies],
        relationships=[],
        member_sets=[described],
        members=[groups.member(path, described) for path in providers],
    )


@functools.cache
def _placement_database(server):
    """Return the URL of Placement's database, kept by this process."""
    return process_fixtures.set_up(databases.Database(server)).url


@functools.cache
def _placement(server):
    """Return the URL of a Placement on a server, kept by this process."""
    url = _placement_database(server)
    [address] = process_fixtures.set_up(
        placement.Placement(url, processes=1)
    ).urls
    return address


class DeploymentChecks:
    """The part of a test that checks and interrupts its ``deployment``."""

    def assert_one_owner(self):
        """Expect that no member's capacity has two owners."""
        allocations = self.deployment.allocations()
        committed = self.deployment.ownership().committed_holds()
        members = [member.id for _hold, member in committed]
        self.assertEqual(sorted(set(members)), sorted(members))
        successors = self.deployment.ownership().successors(allocations)
        for hold, member in committed:
            consumers = {hold.uuid, member.server_uuid} & set(allocations)
            consumers |= {
                u for u, id_ in successors.items() if id_ == member.id
            }
            self.assertLessEqual(len(consumers), 1, member.path)

    def assert_at_rest(self, foreign=()):
        """Expect that Placement equals our rows, and no operation is open.

        :param foreign: consumers that need no row of ours
        :returns: {consumer: allocations} in Placement
        """
        rows = self.deployment.ownership()
        expected = rows.expected_allocations()
        allocations = self.deployment.allocations()
        unknown = set(foreign) - set(expected)
        own = {
            uuid: allocations[uuid]
            for uuid in allocations
            if uuid not in unknown
        }
        self.assertEqual(expected, own)
        self.assertLessEqual(rows.state_pairs(), ownership.AT_REST)
        for member, holds in VRTMember.list_with_holds(
            self.deployment.context
        ):
            pairs = [(member.status, hold.status) for hold in holds]
            self.assertEqual(1, len(pairs), member.path)
            self.assertLessEqual(set(pairs), states.VALID_STATE_PAIRS)
        all_groups = objects.VRTGroup.list(self.deployment.context)
        for group in objects.VRTGroup.list_for_views(
            self.deployment.context, all_groups
        ):
            self.assertEqual(rows.status_at_rest(group), group.status)
        return allocations

    def call_at(self, point, call):
        """Call a function once, when a fault point is reached."""

        def handler(reached):
            if reached == point:
                faultpoints.handler = None
                call()

        faultpoints.handler = handler

    def is_killed_during(self, work, kill_at):
        """Run ``work``; return whether its ``kill_at``-th point killed it."""
        points = itertools.count()

        def handler(_point):
            if next(points) == kill_at:
                raise ProcessKilled

        if kill_at is not None:
            faultpoints.handler = handler
        try:
            work()
        except REFUSALS:
            return False
        except ProcessKilled:
            return True
        finally:
            faultpoints.handler = None
        return False


class DeploymentTestCase(DeploymentChecks, databases.DatabaseTestCase):
    """A test with a Deployment, whose tables and Placement tests share."""

    def setUp(self):
        super().setUp()
        url = _placement(self.SERVER)
        connect = functools.partial(placement.client, url)
        self.deployment = self.useFixture(Deployment(connect))
        # Leftovers would count as unexpected consumers in later tests.
        self.addCleanup(
            lambda: self.deployment.delete_allocations(
                *self.deployment.allocations()
            )
        )
        self.addCleanup(setattr, faultpoints, 'handler', None)

    def lose_record(self, consumer):
        """Delete the record of a consumer, as Placement may by itself.

        Its usage stays; see contributor/placement-records.rst.
        """
        database = sa.create_engine(_placement_database(self.SERVER))
        self.addCleanup(database.dispose)
        with database.begin() as connection:
            deleted = connection.execute(
                sa.text('DELETE FROM consumers WHERE uuid = :uuid'),
                {'uuid': consumer},
            )
        self.assertEqual(1, deleted.rowcount)
