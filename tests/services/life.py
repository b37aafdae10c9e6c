# SPDX-License-Identifier: Apache-2.0
"""Groups, planners, schedulers and reapers on a real Placement, without Nova.

Who plans is told where everybody sits, and whoever asks Nova is answered by
the test. Everything that writes is the product's own.
"""

import collections
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
from nova_groupext import objects
from nova_groupext import pointer
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import planner
from nova_groupext.scheduler.current import locations
from nova_groupext.scheduler.move import destinations
from nova_groupext.scheduler.nova import servers
from nova_groupext.scheduler.placement import placement_client
from nova_groupext.scheduler.protocol import leases
from nova_groupext.scheduler.protocol import release_holds
from nova_groupext.scheduler.redeem import redeem_path
from tests import fixtures as ours
from tests import groups
from tests import rounds
from tests.services import databases
from tests.services import kept
from tests.services import owners
from tests.services import placement
from tests.services import played
from tests.services import players

PROJECT = 'project'
AMOUNT = played.AMOUNT
# Long enough for every lease, and for a request that is under way.
LATER = 1 + max(300, release_holds.REQUEST_LIFETIME)

# What an operation may end with, besides success.
REFUSALS = (exception.VRTException, nova_exc.NoValidHost)


class Died(BaseException):
    """Ends a process without cleaning up: nobody catches it."""


class Life(fixtures.Fixture):
    """A cloud as far as holds are concerned; its clock is the test's.

    :ivar fates: {server uuid: ServerOutcome}, what Nova says of servers
    :ivar whereabouts: {server uuid: provider}, likewise
    :ivar flavors: {server uuid: the id of its flavor}, likewise
    :ivar moving: servers that are under way, likewise
    :ivar shelved: servers that are on no host, likewise
    :ivar gone: hosts that are out of service
    :param connect: returns a client of Placement; called without arguments
    """

    def __init__(self, connect):
        super().__init__()
        self._connect = connect
        self.context = nova_context.get_admin_context()
        self.admin = connect()
        self.fates = {}
        self.whereabouts = {}
        self.flavors = {}
        self.moving, self.shelved = set(), set()
        self.gone = set()
        self.providers = []
        self.loses_answer = False

    def _setUp(self):
        self.useFixture(ours.Clock())
        CONF.set_override('holds_per_request', 2, 'vrt')
        self.addCleanup(CONF.clear_override, 'holds_per_request', 'vrt')
        self.useFixture(played.Nova(self._servers, self._is_out_of_service))
        # Every request in full, in every failure: nobody would read that.
        for name in ('keystoneauth', 'urllib3'):
            logger = logging.getLogger(name)
            self.addCleanup(logger.setLevel, logger.level)
            logger.setLevel(logging.INFO)

    def _servers(self, _context, uuids):
        return {
            uuid: servers.Server(
                self.fates[uuid],
                self.whereabouts.get(uuid),
                self.whereabouts.get(uuid),
                is_moving=uuid in self.moving,
                is_shelved=uuid in self.shelved,
                flavor=self.flavors.get(uuid),
            )
            for uuid in uuids
            if uuid in self.fates
        }

    def _is_out_of_service(self, _context, host, _node_uuid):
        return host in self.gone

    def forget(self):
        """Begin anew, with nothing in our tables and without providers."""
        ours.wipe()
        for each in self.nova():
            each.clear()

    def nova(self):
        """Return what Nova says, to be kept or changed."""
        return (
            *(self.fates, self.whereabouts, self.flavors),
            *(self.moving, self.shelved, self.providers),
        )

    # -- who takes part ----------------------------------------------------

    def client(self):
        return players.Client(self._connect(), self)

    def ledger(self):
        return placement_client.PlacementClient(self.client())

    def leases(self):
        """Return the leases of another planner."""
        return leases.Leases('another')

    def planner(self):
        made = planner.Planner('planner')
        made._client = self.client()
        return made

    # -- what is done ------------------------------------------------------

    def make_provider(self, seats):
        """Make a provider with room for so many members."""
        provider = placement.make_provider(self.admin, VCPU=AMOUNT * seats)
        self.providers.append(provider)
        return provider

    def describe(self, providers, policies=()):
        """Store a group with one member for each provider; not planned."""
        group = _described(
            {f'm-{number}': each for number, each in enumerate(providers)},
            policies,
        )
        group.create(self.context)
        return group.uuid

    def revise(self, uuid, providers, policies=(), adopts=()):
        """Store a group's next definition; not planned.

        :param providers: {member path: where it is to be}
        :param adopts: (member path, server uuid) pairs
        :returns: the draft's uuid
        """
        group, draft = self.group(uuid), _described(providers, policies)
        servers = dict(adopts)
        requests = {each.path: each.request for each in group.members}
        for member in draft.members:
            member.server_uuid = servers.get(member.path)
            member.request = requests.get(member.path, member.request)
        revisions.start(self.context, group, draft)
        return draft.uuid

    def plan(self, uuid):
        self.planner().serve_group(self.context, uuid)

    def held(self, providers):
        uuid = self.describe(providers)
        self.plan(uuid)
        return uuid

    def redeem(self, uuid, path, server=None, scheduler=players.Scheduler):
        """Return the server that got a member's capacity.

        :raises: nova.exception.NoValidHost
        """
        server = server or uuidutils.generate_uuid()
        self.redeem_all(uuid, path, [server], scheduler)
        return server

    def redeem_all(
        self, uuid, path, server_uuids, scheduler=players.Scheduler
    ):
        """Let servers that are created at once have a member each.

        :param path: of one member, or a stem
        :raises: nova.exception.NoValidHost
        """
        self.fates.update(
            dict.fromkeys(server_uuids, servers.ServerOutcome.COMING)
        )
        try:
            with redeem_path.as_no_valid_host(path):
                scheduler(self.client())._redeem(
                    self.context,
                    pointer.Pointer(uuid, path),
                    types.SimpleNamespace(project_id=PROJECT, user_id='user'),
                    server_uuids,
                )
        except BaseException:
            # What Nova hears nothing good of goes to its cell0.
            fate = servers.ServerOutcome.UNSCHEDULED
            self.fates.update(dict.fromkeys(server_uuids, fate))
            raise
        self.fates.update(
            dict.fromkeys(server_uuids, servers.ServerOutcome.LIVE)
        )

    def go(self, uuid, path, provider, claim=None):
        """Let a member's server go elsewhere, as the scheduler does.

        :param claim: takes the place for it; called without arguments
        :returns: whether it goes there
        """
        seat = locations.Location(provider, provider)
        move = destinations.Move(
            self.context, self.group(uuid), self.member(uuid, path), {seat}
        )
        request = types.SimpleNamespace(move=move, seat=seat)
        claim = claim or (lambda: self.fill(provider))
        return destinations.claim(self.context, request, claim)

    def go_by_hints(self, pointed, server, provider, claim):
        """Let a server go elsewhere that may be a member.

        :param pointed: pointer.Pointer of its hints, or None
        :param others: as go() takes them
        """
        seat = locations.Location(provider, provider)
        group = member = None
        if pointed is not None:
            group, member = destinations.find(self.context, pointed, server)
        if member is None:
            return claim()
        move = destinations.Move(self.context, group, member, {seat})
        if not move.allows(seat):
            return False
        request = types.SimpleNamespace(move=move, seat=seat)
        return destinations.claim(self.context, request, claim)

    def leave(self, provider):
        """Remove all that is on a provider."""
        self.remove(*(c for c, at in self.books().items() if provider in at))

    def give_up(self, uuid, *paths):
        """Release members as the API does; they still hold."""
        group = self.group(uuid)
        named = [each for each in group.members if each.path in paths]
        transitions.give_up(self.context, group, named or None)

    def mark_deleted(self, uuid):
        """Delete a group as the API does; it still holds."""
        self.group(uuid).mark_deleted(self.context)

    def release(self, uuid):
        self.planner().serve_group(self.context, uuid)

    def delete(self, uuid):
        self.mark_deleted(uuid)
        self.release(uuid)

    def remove(self, *consumers):
        """Remove allocations without a word to anybody."""
        for consumer in consumers:
            self.admin.delete(f'/allocations/{consumer}')

    def resize(self, provider, seats):
        """Let a provider have so many seats, or what it was made with."""
        path = f'/resource_providers/{provider}/inventories/VCPU'
        inventory = self.admin.get(path).json()
        reserved = inventory['total'] - max(0, seats) * AMOUNT
        self.admin.put(path, json={**inventory, 'reserved': reserved})

    def fill(self, provider, seats=1, consumer=None):
        consumer = consumer or uuidutils.generate_uuid()
        placement.claim(self.admin, provider, consumer, VCPU=seats * AMOUNT)
        return consumer

    def expire(self, uuid):
        """Let a group's time be over; what it holds it still holds."""
        db.compare_and_set(
            self.context,
            models.Group,
            models.Group.uuid == uuid,
            expires_at=timeutils.utcnow(),
        )
        timeutils.advance_time_seconds(1)

    def lose_answer(self):
        """Let what Placement is asked next be done without an answer."""
        self.loses_answer = True

    def reap(self, seconds=LATER):
        """Let the reaper of one planner make a round, some time later."""
        timeutils.advance_time_seconds(seconds)
        rounds.reap(self.planner(), self.context)
        self.keep()

    def keep(self):
        """Fill what is free where groups are to be alone."""
        self.planner().keep_exclusive(self.context)

    # -- what there is -----------------------------------------------------

    def group(self, uuid):
        return objects.VRTGroup.get(self.context, uuid)

    def find(self, uuid):
        return objects.VRTGroup.find(self.context, uuid)

    def member(self, uuid, path):
        return VRTMember.get_by_path(
            self.context, uuid, path, project_id=PROJECT
        )

    def hold(self, uuid, path):
        member = self.member(uuid, path)
        return objects.VRTHold.get_by_member(self.context, member.id)

    def seats(self, uuid):
        """Return {member path: provider} of what is held."""
        paths = {each.id: each.path for each in self.group(uuid).members}
        return {
            paths[hold.member_id]: hold.provider_uuid
            for hold in self.owners().holds
            if hold.status in (states.Hold.HELD, states.Hold.EXCHANGING)
            and hold.member_id in paths
        }

    def statuses(self, uuid):
        """Return how many members are in each state."""
        return collections.Counter(
            str(member.status) for member in self.group(uuid).members
        )

    def rows(self):
        """Return {table: how many rows} of what groups leave behind."""
        rows = ours.rows()
        # By these, projects take turns; they stay.
        rows.pop('vrt_projects', None)
        return rows

    def books(self):
        """Return {consumer: allocations} of all that Placement has."""
        found = collections.defaultdict(dict)
        books = self.ledger()
        for provider in self.providers:
            used = books.used(self.context, provider)
            for consumer, amounts in used.items():
                found[consumer][provider] = {'resources': amounts}
        return dict(found)

    def owners(self):
        """Return what our rows say of who owns what, as owners.Owners."""
        holds = objects.VRTHold.list_by_status(
            self.context, *states.HOLD_HAS_NOT_ENDED
        )
        members = VRTMember.list_by_ids(
            self.context, [hold.member_id for hold in holds]
        )
        return owners.Owners(holds, {member.id: member for member in members})


def _described(providers, policies=()):
    return groups.described(
        project_id=PROJECT,
        expires_in=1000 * LATER,
        subgroups=[],
        policies=[groups.policy('', each) for each in policies],
        relationships=[],
        members=[
            VRTMember(
                path=path,
                stem='m',
                status=states.Member.TENTATIVE,
                description={
                    'count': len(providers),
                    'seat': groups.seat(provider, AMOUNT),
                },
                request={},
            )
            for path, provider in providers.items()
        ],
    )


@functools.cache
def _placement_database(server):
    """Return the URL of Placement's database, kept by this process."""
    return kept.keep(databases.Database(server)).url


@functools.cache
def _placement(server):
    """Return the URL of a Placement on a server, kept by this process."""
    url = _placement_database(server)
    [address] = kept.keep(placement.Placement(url, processes=1)).urls
    return address


class LifeTestCase(databases.DatabaseTestCase):
    """Has a life of its own, in tables and a Placement that others had."""

    def setUp(self):
        super().setUp()
        url = _placement(self.SERVER)
        connect = functools.partial(placement.client, url)
        self.life = self.useFixture(Life(connect))
        # All that Placement has counts, also what other tests have left.
        self.addCleanup(lambda: self.life.remove(*self.life.books()))
        self.addCleanup(setattr, faultpoints, 'trap', None)

    def lose_record(self, consumer):
        """Let Placement lose the record of a consumer, as it may by itself.

        Its amounts stay; see contributor/placement-records.rst.
        """
        database = sa.create_engine(_placement_database(self.SERVER))
        self.addCleanup(database.dispose)
        with database.begin() as connection:
            done = connection.execute(
                sa.text('DELETE FROM consumers WHERE uuid = :uuid'),
                {'uuid': consumer},
            )
        self.assertEqual(1, done.rowcount)

    def assert_one_owner(self):
        """Check what holds at every instant: no member has two owners."""
        books = self.life.books()
        promised = self.life.owners().promised()
        members = [member.id for _hold, member in promised]
        self.assertEqual(sorted(set(members)), sorted(members))
        successors = self.life.owners().successors(books)
        for hold, member in promised:
            owners = {hold.uuid, member.server_uuid} & set(books)
            owners |= {u for u, id_ in successors.items() if id_ == member.id}
            self.assertLessEqual(len(owners), 1, member.path)

    def assert_at_rest(self, strangers=()):
        """Check that Placement has what our rows say, and all is done.

        :param strangers: consumers that need no row of ours
        :returns: what Placement has, as Life.books()
        """
        rows = self.life.owners()
        expected, books = rows.books(), self.life.books()
        unknown = set(strangers) - set(expected)
        ours = {uuid: books[uuid] for uuid in books if uuid not in unknown}
        self.assertEqual(expected, ours)
        self.assertLessEqual(rows.pairs(), owners.AT_REST)
        for member, holds in VRTMember.list_promises(self.life.context):
            pairs = [(member.status, hold.status) for hold in holds]
            self.assertEqual(1, len(pairs), member.path)
            self.assertLessEqual(set(pairs), states.VALID_STATE_PAIRS)
        found = objects.VRTGroup.list(self.life.context)
        for group in objects.VRTGroup.list_shown(self.life.context, found):
            self.assertEqual(rows.settled(group), group.status)
        return books

    def at(self, point, do):
        """Do something, once, when a point is reached."""

        def trap(reached):
            if reached == point:
                faultpoints.trap = None
                do()

        faultpoints.trap = trap

    def is_dead_after(self, work, death):
        """Do some work; tell whether its process died at a point of it."""
        points = itertools.count()

        def trap(_point):
            if next(points) == death:
                raise Died

        if death is not None:
            faultpoints.trap = trap
        try:
            work()
        except REFUSALS:
            return False
        except Died:
            return True
        finally:
            faultpoints.trap = None
        return False
