# SPDX-License-Identifier: Apache-2.0
"""Transactions on two nodes of a Galera cluster.

A node does not see the locks of another one. Of two transactions that have
changed the same row, the cluster aborts the one that commits last, and the
product runs it again. So in most tests there are two transactions, one on
each node, that commit at once after all of their reads and writes.
"""

import threading

import fixtures
from nova import context as nova_context
from nova import quota as nova_quota
from oslo_db import exception as db_exc
from oslo_utils import timeutils
from oslo_utils import uuidutils
from oslotest import base
import pymysql
import sqlalchemy as sa

from nova_groupext import exception
from nova_groupext import quota
from nova_groupext.conf import CONF
from nova_groupext.db import api as db
from nova_groupext.db import database_errors
from nova_groupext.db import engine
from nova_groupext.db import models
from nova_groupext.objects import boot
from nova_groupext.objects import move_transitions
from nova_groupext.objects import redeems
from nova_groupext.objects import states
from nova_groupext.objects import swaps
from nova_groupext.objects.hold import VRTHold
from nova_groupext.objects.lease import VRTLease
from nova_groupext.objects.move import VRTMove
from tests import fixtures as test_fixtures
from tests import groups
from tests.services import concurrency
from tests.services import galera

# The order of the commits is random, and once in ten times they do not even
# conflict: without the tested code, one of ROUNDS rounds fails.
ROUNDS = 5
# Of each, a group of three members may be held.
LIMITS = {
    name: {'limit': 3, 'in_use': 0} for name in ('instances', 'cores', 'ram')
}
REQUEST = {'flavor': {'nova_object.data': {'vcpus': 1, 'memory_mb': 1}}}


class GaleraTestCase(base.BaseTestCase):
    SYNC_WAIT = None

    def setUp(self):
        super().setUp()
        galera.GALERA.require(self)
        self.nodes = self.useFixture(galera.Nodes(self.SYNC_WAIT))
        self.context = nova_context.get_admin_context()

    def meet(self, *calls):
        """Run two calls, one on each node, that commit at once.

        The first transaction of each waits for the other's. A transaction
        that is run again does not wait.

        :param calls: called with a context of their own
        :returns: list of the calls' results, or of the exceptions they raised
        """
        self.nodes.sync()
        barrier = threading.Barrier(2)
        calls = [
            self._on(number, call, barrier)
            for number, call in enumerate(calls)
        ]
        outcomes = concurrency.call_concurrently(calls)
        self.nodes.sync()
        return outcomes

    def _on(self, number, call, barrier):
        def run():
            with self.nodes.at(number):
                event = engine.get_engine(), 'commit', wait
                sa.event.listen(*event)
                try:
                    return call(nova_context.get_admin_context())
                finally:
                    barrier.abort()
                    sa.event.remove(*event)

        def wait(_connection):
            try:
                barrier.wait()
            except threading.BrokenBarrierError:
                # The other call commits nothing, or this one is a retry.
                return
            barrier.abort()

        return run

    def create(self, **values):
        group = groups.unstored(**values)
        for member_set in group.member_sets:
            member_set.resolved_request = REQUEST
        group.create(self.context)
        return group

    def held(self):
        """Return a held group and its VRTHolds."""
        group = self.create()
        rows = groups.create_holds(self.context, group)
        later = timeutils.utcnow().replace(year=2100)
        groups.hold_all(self.context, group, rows, later)
        group = group.get(self.context, group.uuid)
        return group, VRTHold.list_by_group(self.context, group.id)


class TestProjects(GaleraTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(
            fixtures.MockPatchObject(
                nova_quota.QUOTAS,
                'get_project_quotas',
                lambda _context, _project_id: LIMITS,
            )
        )

    def create_some(self, number):
        """Return groups of a new project whose quota allows one of them."""
        project = uuidutils.generate_uuid()
        return [self.create(project_id=project) for _group in range(number)]

    @staticmethod
    def holder(group):
        """Return a call that checks the quota and writes holds."""

        def hold(requester):
            def write_down():
                quota.check(requester, group.project_id, group.members)
                return groups.create_holds(requester, group)

            return quota.with_project_lock(
                requester, group.project_id, write_down
            )

        return hold

    def assert_one_holds(self, outcomes):
        refused = [
            each
            for each in outcomes
            if isinstance(each, exception.LimitExceeded)
        ]
        [held] = [each for each in outcomes if each not in refused]
        self.assertEqual(3, len(held), held)
        for each in refused:
            self.assertIn(
                '3 requested, 3 of 3 already used or held', str(each)
            )

    def test_concurrent_holds_on_two_nodes_share_one_quota(self):
        for _round in range(ROUNDS):
            one, other = self.create_some(2)
            db.insert_if_missing(
                self.context, models.ProjectLock, project_id=one.project_id
            )

            self.assert_one_holds(
                self.meet(self.holder(one), self.holder(other))
            )

    def test_concurrent_holds_of_a_new_project_share_one_quota(self):
        for _round in range(ROUNDS):
            wanted = self.create_some(6)
            self.nodes.sync()

            def run(number, group):
                with self.nodes.at(number % 2):
                    requester = nova_context.get_admin_context()
                    return self.holder(group)(requester)

            self.assert_one_holds(
                concurrency.call_concurrently(
                    [
                        lambda each=each: run(*each)
                        for each in enumerate(wanted)
                    ]
                )
            )


class TestGroups(GaleraTestCase):
    """Concurrent decisions about a group, of which one sees the other."""

    def reserver(self, group, hold, check=lambda _context: None):
        """Return a call that reserves a member for a server."""
        [member] = [m for m in group.members if m.id == hold.member_id]
        # The call changes the objects, so that each call has its own.
        place = member.obj_clone(), hold.obj_clone()
        servers = {uuidutils.generate_uuid(): place}

        def reserve(requester):
            return redeems.reserve(
                requester, servers, lambda _state: check(requester)
            )

        return reserve

    def exchanger(self, lease, hold, check=lambda _context: None):
        """Return a call that prepares a swap of a hold on its own host."""

        def exchange(requester):
            def work():
                check(requester)
                swaps.prepare(requester, lease, [hold])
                return VRTHold.create_all(requester, [hold.duplicate()])

            return bool(swaps.with_lease(requester, lease, work))

        return exchange

    @staticmethod
    def mover(hold, is_allowed):
        """Return a call that begins the move of a member's server."""
        move = VRTMove(
            group_id=hold.group_id,
            member_id=hold.member_id,
            server_uuid=uuidutils.generate_uuid(),
            host='there',
            node='there',
        )

        def begin(requester):
            return move_transitions.start_move(
                requester, move, lambda: is_allowed(requester)
            )

        return begin

    def status(self, hold):
        [now] = VRTHold.list_by_uuids(self.context, [hold.uuid])
        return now.status

    def test_concurrent_redeems_that_exclude_each_other_admit_one(self):
        def check(requester):
            is_used = models.Member.status.in_(states.MEMBER_HAS_SERVER)
            mine = models.Member.group_id == group.id
            if db.count(requester, models.Member, mine, is_used):
                raise exception.RedeemFailed(member='m', reason='used')

        for _round in range(ROUNDS):
            group, holds = self.held()

            outcomes = self.meet(
                *(self.reserver(group, hold, check) for hold in holds[:2])
            )

            [refused] = [each for each in outcomes if each is not True]
            self.assertIsInstance(refused, exception.RedeemFailed)
            self.assertEqual(
                {states.Hold.REDEEMING, states.Hold.HELD},
                {self.status(hold) for hold in holds[:2]},
            )

    def test_concurrent_swap_and_excluded_move_admit_one(self):
        """The group's counter is the only row that both of them change."""

        def check(requester):
            mine = models.Move.group_id == group.id
            if db.count(requester, models.Move, mine):
                raise exception.GenerationConflict(group=group.uuid)

        def is_allowed(requester):
            return not db.count(
                requester,
                models.Hold,
                models.Hold.group_id == group.id,
                models.Hold.status == states.Hold.EXCHANGING,
            )

        for _round in range(ROUNDS):
            group, [one, other, _third] = self.held()
            lease = groups.acquire_lease(self.context, group)

            exchanged, moved = self.meet(
                self.exchanger(lease, one, check),
                self.mover(other, is_allowed),
            )

            if moved:
                self.assertIsInstance(exchanged, exception.GenerationConflict)
            else:
                self.assertIs(True, exchanged)

    def test_concurrent_swap_and_redeem_of_one_hold_admit_one(self):
        for _round in range(ROUNDS):
            group, [hold, *_others] = self.held()
            lease = groups.acquire_lease(self.context, group)

            exchanged, reserved = self.meet(
                self.exchanger(lease, hold), self.reserver(group, hold)
            )

            if reserved is True:
                self.assertIsInstance(exchanged, exception.GenerationConflict)
                self.assertEqual(states.Hold.REDEEMING, self.status(hold))
            else:
                self.assertEqual((True, False), (exchanged, reserved))
                self.assertEqual(states.Hold.EXCHANGING, self.status(hold))

    def test_concurrent_hold_and_purge_exclude_each_other(self):
        for _round in range(ROUNDS):
            group = self.create()
            placement = groups.placement(uuidutils.generate_uuid(), 1)
            hold = VRTHold.for_member(group.members[0], placement)

            created, forgotten = self.meet(hold.create, group.purge)

            is_there = group.find(self.context, group.uuid) is not None
            if is_there:
                self.assertIsNone(created)
                self.assertIsInstance(forgotten, db_exc.DBReferenceError)
            else:
                self.assertIsInstance(created, exception.GroupNotFound)
            self.assertEqual(
                is_there,
                bool(VRTHold.list_by_uuids(self.context, [hold.uuid])),
            )


class TestLeases(GaleraTestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(test_fixtures.Clock())

    @staticmethod
    def acquirer(group):
        names = [uuidutils.generate_uuid() for _name in range(2)]

        def acquire(requester):
            return VRTLease.acquire(
                requester, group.id, *names, 300, wakes_owner=False
            )

        return acquire

    def assert_one_gets_it(self, group):
        outcomes = self.meet(self.acquirer(group), self.acquirer(group))

        [lease] = [each for each in outcomes if each is not None]
        mine = models.Lease.group_id == group.id
        row = db.find_one(self.context, models.Lease, mine)
        self.assertEqual(row.operation, lease.operation)

    def test_one_of_two_planners_gets_a_new_lease(self):
        for _round in range(ROUNDS):
            self.assert_one_gets_it(self.create())

    def test_one_of_two_planners_takes_a_lease_over(self):
        group = self.create()
        groups.acquire_lease(self.context, group)
        for _round in range(ROUNDS):
            timeutils.advance_time_seconds(301)

            self.assert_one_gets_it(group)

    def test_concurrent_takeover_and_renewal_exclude_each_other(self):
        for _round in range(ROUNDS):
            group = self.create()
            lease = groups.acquire_lease(self.context, group)
            timeutils.advance_time_seconds(301)

            renewed, acquired = self.meet(lease.renew, self.acquirer(group))

            if acquired:
                self.assertIsInstance(renewed, exception.GroupBusy)
            else:
                self.assertIsNone(renewed)


class TestErrors(GaleraTestCase):
    """Classification of Galera's errors, and retries after passing ones."""

    def setUp(self):
        super().setUp()
        self.group = self.create()

    def test_transaction_aborted_at_commit_changes_nothing(self):
        once = db.compare_and_set.__wrapped__

        def change(requester):
            own = models.Group.id == self.group.id
            described = uuidutils.generate_uuid()
            return once(requester, models.Group, own, description=described)

        outcomes = self.meet(change, change)

        outcomes.remove(1)
        self.assertIsInstance(outcomes[0], db_exc.DBDeadlock)

    def test_transaction_aborted_at_commit_is_retried(self):
        def change(requester):
            own = models.Group.id == self.group.id
            described = uuidutils.generate_uuid()
            return db.compare_and_set(
                requester, models.Group, own, description=described
            )

        self.assertEqual([1, 1], self.meet(change, change))

    def set_ready(self, is_ready):
        """Make the first node serve, or reject all statements."""
        rejected = 'NONE' if is_ready else 'ALL'
        with self.operator.cursor() as cursor:
            cursor.execute(f'SET GLOBAL wsrep_reject_queries = {rejected}')

    def connect_operator(self):
        url = sa.make_url(self.nodes.urls[0])
        self.operator = pymysql.connect(
            host=url.host, port=url.port, user=url.username
        )
        self.addCleanup(self.operator.close)
        self.addCleanup(self.set_ready, is_ready=True)

    def test_statement_on_a_node_that_is_not_ready_is_retried(self):
        self.connect_operator()
        self.set_ready(is_ready=False)

        def pause(_seconds):
            self.set_ready(is_ready=True)

        with fixtures.MockPatch('time.sleep', pause):
            self.group.change(self.context, states.Group.PLANNED)

        self.assertEqual(2, self.group.generation)

    def test_refused_commit_has_an_unknown_outcome(self):
        """The next transaction does not commit the change either."""
        self.connect_operator()
        ours = engine.get_engine()

        def refuse(_connection):
            self.set_ready(is_ready=False)

        sa.event.listen(ours, 'commit', refuse)

        self.assertRaises(
            database_errors.OutcomeUnknown,
            *(self.group.change, self.context, states.Group.PLANNED),
        )

        sa.event.remove(ours, 'commit', refuse)
        self.set_ready(is_ready=True)
        db.insert_if_missing(
            self.context, models.ProjectLock, project_id='another'
        )
        now = self.group.get(self.context, self.group.uuid)
        self.assertEqual(states.Group.PLANNING, now.status)


class TestSyncWait(GaleraTestCase):
    """Reads on one node of changes that were committed on the other."""

    # The value of the admin's guide, for transactions that begin with SELECT,
    # with an UPDATE or DELETE, and with an INSERT.
    SYNC_WAIT = 7
    # The other node is late once in ten times.
    ROUNDS = 40

    def test_option_sets_the_session_variable(self):
        name = 'mysql_wsrep_sync_wait'
        CONF.set_override(name, self.SYNC_WAIT, 'vrt_database')
        self.addCleanup(CONF.clear_override, name, 'vrt_database')
        with (
            test_fixtures.Database(self.nodes.urls[0], sync=False),
            engine.get_engine().connect() as connection,
        ):
            asked = sa.text('SELECT @@SESSION.wsrep_sync_wait')
            self.assertEqual(self.SYNC_WAIT, connection.scalar(asked))

    def test_a_change_is_read_on_the_other_node(self):
        group = self.create()
        for number in range(self.ROUNDS):
            group.store_fault(self.context, str(number))
            with self.nodes.at(1):
                now = group.find_by_id(self.context, group.id)
                self.assertEqual(str(number), now.fault)

    def test_next_change_succeeds_on_the_other_node(self):
        group = self.create()
        for _round in range(self.ROUNDS):
            group.change(self.context, states.Group.PLANNED)
            with self.nodes.at(1):
                group.change(self.context, states.Group.PLANNING)

    def test_deleted_row_is_inserted_again_on_the_other_node(self):
        group = self.create()
        begun = boot.VRTBoot.start(self.context, group, 'request')
        for number in range(self.ROUNDS):
            begun.finish(self.context, boot.DONE)
            with self.nodes.at(1):
                begun = boot.VRTBoot.start(self.context, group, str(number))
