# SPDX-License-Identifier: Apache-2.0
"""Groups, planners, schedulers and reapers on a real Placement, without Nova.

Who plans is told where everybody sits, and whoever asks Nova is answered by
the test. Everything that writes is the product's own.
"""

import collections
import dataclasses
import types

import fixtures
from keystoneauth1 import exceptions as ks_exc
from nova import context as nova_context
from nova import exception as nova_exc
from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import objects
from nova_groupext import pointer
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import states
from nova_groupext.objects.member import VRTMember
from nova_groupext.scheduler import candidate
from nova_groupext.scheduler import ledger
from nova_groupext.scheduler import manager
from nova_groupext.scheduler import planning
from nova_groupext.scheduler import redeem
from nova_groupext.scheduler import releasing
from nova_groupext.scheduler import service
from tests import fixtures as ours
from tests import groups
from tests.services import databases
from tests.services import placement

PROJECT = 'project'
# What one member asks for, and members per provider.
AMOUNT = 2
# Long enough for every lease, and for a request that is under way.
LATER = 1 + max(300, releasing.REQUEST_LIFETIME)

# The states of a hold and of its member when nothing is under way.
AT_REST = {
    (states.Hold.HELD, states.Member.HELD),
    (states.Hold.REDEEMED, states.Member.ACTIVE),
    # A filler has no member.
    (states.Hold.HELD, None),
}


class Planning(planning.Planning):
    """Seats every member where its request says."""

    def _look(self):
        return None

    def _decide(self, seen):
        return {'status': objects.VRTPlan.PLACED}

    def _plan(self, seen, answer):
        return self._remember(
            answer,
            {
                member.path: member.request
                for member in self._group.members
                if member.status == states.Member.TENTATIVE
            },
        )

    def _rehearse(self, seen, plan):
        return True


class Scheduler(manager.HolisticSchedulerManager):
    """The redeem door, without Nova's filters behind it."""

    host_manager = None

    def __init__(self, client):
        self._placement_client = client

    def _select_held(self, context, spec, server_uuid, hold):
        if not self.placement_client.claim_resources(
            context,
            server_uuid,
            candidate.HeldAllocation(hold),
            spec.project_id,
            spec.user_id,
            candidate.PLACEMENT_VERSION,
        ):
            raise nova_exc.NoValidHost(reason='the claim failed')
        return hold

    def _selection(self, context, spec, hold):
        return hold


class Refusing(Scheduler):
    """Its filters let nobody through."""

    def _select_held(self, context, spec, server_uuid, hold):
        raise nova_exc.NoValidHost(reason='a filter refuses')


class Client(manager.RedeemingReportClient):
    """Nova's client of Placement, that may not hear an answer."""

    def __init__(self, adapter, life):
        super().__init__(adapter)
        self._life = life

    def post(self, *args, **kwargs):
        answer = super().post(*args, **kwargs)
        if self._life.loses_answer:
            self._life.loses_answer = False
            raise ks_exc.ConnectFailure('a cable was cut')
        return answer


class Life(fixtures.Fixture):
    """A cloud as far as holds are concerned; its clock is the test's.

    :ivar fates: {server uuid: Fate}, what Nova says of servers
    :ivar gone: hosts that are out of service
    :param url: of Placement
    """

    def __init__(self, url):
        super().__init__()
        self._url = url
        self.context = nova_context.get_admin_context()
        self.admin = placement.client(url)
        self.fates = {}
        self.gone = set()
        self.providers = []
        self.loses_answer = False

    def _setUp(self):
        timeutils.set_time_override()
        self.addCleanup(timeutils.clear_time_override)
        CONF.set_override('hold_chunk_size', 2, 'vrt')
        self.addCleanup(CONF.clear_override, 'hold_chunk_size', 'vrt')
        CONF.set_override('planning_attempts', 1, 'vrt')
        self.addCleanup(CONF.clear_override, 'planning_attempts', 'vrt')
        for name, value in (
            ('quota.check', lambda *_args: None),
            ('scheduler.planning.Planning', Planning),
            ('scheduler.redeem.RedeemDoor._check_description', _accept),
            ('scheduler.servers.fates', self._fates),
            ('scheduler.hosts.is_out_of_service', self._is_out_of_service),
            ('scheduler.hosts.nodes', self._nodes),
            ('objects.intent.PATIENCE', 1),
            ('objects.intent.PAUSE', 0),
        ):
            self.useFixture(
                fixtures.MonkeyPatch(f'nova_groupext.{name}', value)
            )

    def _fates(self, _context, uuids):
        return {uuid: self.fates[uuid] for uuid in uuids if uuid in self.fates}

    def _is_out_of_service(self, _context, host, _node_uuid):
        return host in self.gone

    @staticmethod
    def _nodes(_context, host):
        """A host is named like its provider."""
        return [
            types.SimpleNamespace(
                host=host, hypervisor_hostname=host, uuid=host
            )
        ]

    # -- who takes part ----------------------------------------------------

    def client(self):
        return Client(placement.client(self._url), self)

    def ledger(self):
        return ledger.Ledger(self.client())

    def planner(self):
        planner = service.Planner('planner')
        planner._client = self.client()
        return planner

    # -- what is done ------------------------------------------------------

    def make_provider(self, seats):
        """Make a provider with room for so many members."""
        provider = placement.make_provider(self.admin, VCPU=AMOUNT * seats)
        self.providers.append(provider)
        return provider

    def describe(self, providers, policies=()):
        """Store a group with one member for each provider; not planned."""
        group = groups.described(
            project_id=PROJECT,
            expires_in=1000 * LATER,
            subgroups=[],
            policies=[
                objects.VRTPolicy(at='', type=each['type'], definition=each)
                for each in policies
            ],
            relationships=[],
            members=[
                VRTMember(
                    path=f'm-{number}',
                    stem='m',
                    status=states.Member.TENTATIVE,
                    description={'count': len(providers)},
                    request=_seat(provider),
                )
                for number, provider in enumerate(providers)
            ],
        )
        group.create(self.context)
        return group.uuid

    def plan(self, uuid):
        self.planner().plan_group(self.context, uuid)

    def held(self, providers):
        uuid = self.describe(providers)
        self.plan(uuid)
        return uuid

    def redeem(self, uuid, path, server=None, scheduler=Scheduler):
        """Return the server that got a member's capacity.

        :raises: nova.exception.NoValidHost
        """
        server = server or uuidutils.generate_uuid()
        with redeem.explained(path):
            scheduler(self.client())._redeem(
                self.context,
                pointer.Pointer(uuid, path),
                types.SimpleNamespace(project_id=PROJECT, user_id='user'),
                [server],
            )
        return server

    def give_up(self, uuid, *paths):
        """Release members as the API does; they still hold."""
        group = self.group(uuid)
        named = [each for each in group.members if each.path in paths]
        group.give_up(self.context, named or None)

    def mark_deleted(self, uuid):
        """Delete a group as the API does; it still holds."""
        self.group(uuid).change(self.context, states.Group.RELEASING)

    def release(self, uuid):
        self.planner().release_group(self.context, uuid)

    def delete(self, uuid):
        self.mark_deleted(uuid)
        self.release(uuid)

    def remove(self, consumer):
        """Remove allocations without a word to anybody."""
        self.admin.delete(f'/allocations/{consumer}')

    def fill(self, provider, seats=1):
        consumer = uuidutils.generate_uuid()
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
        self.planner().reap(self.context)
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
        """Return what our rows say of who owns what, as an Owners."""
        holds = objects.VRTHold.list_by_status(self.context, *states.Hold)
        members = VRTMember.list_by_ids(
            self.context, [hold.member_id for hold in holds]
        )
        return Owners(holds, {member.id: member for member in members})


@dataclasses.dataclass
class Owners:
    """Our rows: the holds, and the members by id."""

    holds: list
    members: dict

    def books(self):
        """Return {consumer: allocations} as Placement should have it."""
        return {self._consumer(hold): hold.allocations for hold in self.holds}

    def _consumer(self, hold):
        if hold.status == states.Hold.REDEEMED:
            return self.members[hold.member_id].server_uuid
        return hold.uuid

    def pairs(self):
        """Return {(state of a hold, state of its member)}; None: a filler."""
        return {
            (hold.status, member and member.status)
            for hold, member in self._owned()
        }

    def _owned(self):
        return [
            (hold, self.members.get(hold.member_id)) for hold in self.holds
        ]

    def promised(self):
        """Return [(promised hold, member)] of the members that have one."""
        return [
            (hold, member)
            for hold, member in self._owned()
            if member and hold.status in states.PROMISED
        ]


def _seat(provider):
    return {
        'host': provider,
        'node': provider,
        'provider': provider,
        'allocations': {provider: {'resources': {'VCPU': AMOUNT}}},
        'mappings': {'': [provider]},
        'domains': {},
    }


def _accept(*_args):
    """What a server asks for is what its member was described with."""


class LifeTestCase(databases.DatabaseTestCase):
    """Has a life of its own, in a Placement that its class shares."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Any instance can skip the class or fail it.
        cls.SERVER.require(cls('setUp'))
        database = cls.enterClassContext(databases.Database(cls.SERVER))
        cls.placement = cls.enterClassContext(
            placement.Placement(database.url, processes=1)
        )

    def setUp(self):
        super().setUp()
        self.life = self.useFixture(Life(self.placement.urls[0]))

    def assert_one_owner(self):
        """Check what holds at every instant: no member has two owners."""
        books = self.life.books()
        promised = self.life.owners().promised()
        members = [member.id for _hold, member in promised]
        self.assertEqual(sorted(set(members)), sorted(members))
        for hold, member in promised:
            owners = {hold.uuid, member.server_uuid} & set(books)
            self.assertLessEqual(len(owners), 1)

    def assert_at_rest(self, strangers=()):
        """Check that Placement has what our rows say, and all is done.

        :param strangers: consumers that need no row of ours
        """
        owners = self.life.owners()
        expected, books = owners.books(), self.life.books()
        for consumer in set(strangers) - set(expected):
            books.pop(consumer, None)
        self.assertEqual(expected, books)
        self.assertLessEqual(owners.pairs(), AT_REST)
        self.assert_one_owner()
        for group in objects.VRTGroup.list(self.life.context):
            self.assertEqual(_settled(group), group.status)


def _settled(group):
    """Return the status that a group at rest has to have."""
    statuses = {member.status for member in group.members}
    if group.status not in (*states.HOLDS, states.Group.RELEASED):
        return group.status
    if states.Member.HELD in statuses:
        return states.Group.HELD
    if states.Member.ACTIVE in statuses:
        return states.Group.ACTIVE
    return states.Group.RELEASED
