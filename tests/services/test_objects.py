# SPDX-License-Identifier: Apache-2.0
"""Objects on every database: concurrent writers, and stored values."""

import datetime

from nova import context
from oslo_db import exception as db_exc
from oslo_utils import timeutils
from oslo_utils import uuidutils

from nova_groupext import exception
from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.objects import redeems
from nova_groupext.objects import releases
from nova_groupext.objects import states
from nova_groupext.objects import topology
from nova_groupext.objects import transitions
from nova_groupext.objects import watched_holds
from nova_groupext.scheduler.reap import statistics
from tests import fixtures
from tests import groups
from tests.services import concurrency
from tests.services import databases
from tests.services import servers

WRITERS = 6
ROUNDS = 5
MINUTE = datetime.timedelta(minutes=1)


class Objects:
    """Writers with connections of their own, as in their own processes."""

    def create(self, requester=None, **values):
        group = groups.unstored(**values)
        group.create(requester or context.get_admin_context())
        return group

    def get(self, group):
        return objects.VRTGroup.get(context.get_admin_context(), group.uuid)

    def held(self):
        """Create a group whose members are all held."""
        group = self.create()
        requester = context.get_admin_context()
        holds = groups.create_holds(requester, group)
        later = timeutils.utcnow() + MINUTE
        groups.hold_all(requester, group, holds, later)
        return self.get(group)

    def holds(self, group):
        return objects.VRTHold.list_by_group(
            context.get_admin_context(), group.id
        )

    def one_wins(self, writers, *losses):
        """Run writers concurrently, and expect that only one succeeds.

        :param losses: exceptions that the other writers may raise
        :returns: result of the writer that succeeded
        """
        outcomes = concurrency.call_concurrently(writers)
        lost = [each for each in outcomes if isinstance(each, losses)]
        won = [each for each in outcomes if each not in lost]
        self.assertEqual(1, len(won), outcomes)
        self.assertNotIsInstance(won[0], Exception)
        return won[0]

    def only_raise(self, writers, *errors):
        """Run writers concurrently, and expect no exceptions but these."""
        for outcome in concurrency.call_concurrently(writers):
            if isinstance(outcome, Exception):
                self.assertIsInstance(outcome, errors)


def call(function, *args, **kwargs):
    """Return a call of a function with a context of its own."""
    return lambda: function(context.get_admin_context(), *args, **kwargs)


@databases.on(*servers.DATABASES, servers.SNAPSHOTS)
class ConcurrentWriters(Objects):
    def test_concurrent_changes_of_one_generation_admit_one(self):
        for _round in range(ROUNDS):
            group = self.create()
            readers = [self.get(group) for _writer in range(WRITERS)]

            self.one_wins(
                [
                    call(reader.change, states.Group.PLANNED, fault=f'{own}')
                    for own, reader in enumerate(readers)
                ],
                exception.GenerationConflict,
            )

            stored = self.get(group)
            [winner] = [each for each in readers if each.generation == 2]
            self.assertEqual(
                (states.Group.PLANNED, 2, winner.fault),
                (stored.status, stored.generation, stored.fault),
            )

    def test_concurrent_redeems_of_one_member_admit_one(self):
        for _round in range(ROUNDS):
            group = self.held()
            readers = [self.get(group).members[0] for _ in range(WRITERS)]

            self.one_wins(
                [
                    call(
                        reader.change,
                        states.Member.REDEEMING,
                        server_uuid=uuidutils.generate_uuid(),
                    )
                    for reader in readers
                ],
                exception.MemberStateConflict,
            )

            [winner] = [
                each
                for each in readers
                if each.status == states.Member.REDEEMING
            ]
            self.assertEqual(
                winner.server_uuid, self.get(group).members[0].server_uuid
            )

    def test_concurrent_redeem_and_release_exclude_each_other(self):
        for _round in range(ROUNDS):
            group = self.held()
            readers = [self.get(group) for _writer in range(WRITERS)]

            self.one_wins(
                [
                    *(
                        call(
                            reader.members[0].change,
                            states.Member.REDEEMING,
                            server_uuid=uuidutils.generate_uuid(),
                        )
                        for reader in readers[::2]
                    ),
                    *(
                        call(
                            releases.release_members,
                            reader,
                            reader.members[:1],
                        )
                        for reader in readers[1::2]
                    ),
                ],
                exception.MemberStateConflict,
            )

            self.assertIn(
                (
                    self.get(group).members[0].status,
                    self.holds(group)[0].status,
                ),
                (
                    (states.Member.REDEEMING, states.Hold.HELD),
                    (states.Member.RELEASED, states.Hold.RELEASING),
                ),
            )

    def test_concurrent_reserves_change_member_and_hold_together(self):
        for _round in range(ROUNDS):
            group = self.held()

            outcomes = concurrency.call_concurrently(self.reserves(group))

            self.assertEqual(1, outcomes.count(True), outcomes)
            self.assertEqual(WRITERS - 1, outcomes.count(False), outcomes)
            [first, *_] = self.get(group).members
            hold = objects.VRTHold.find_by_member(
                context.get_admin_context(), first.id
            )
            self.assertEqual(
                (states.Hold.REDEEMING, first.server_uuid),
                (hold.status, hold.server_uuid),
            )

    def reserves(self, group):
        """Return calls that reserve the first member for servers."""
        return [
            call(
                redeems.reserve,
                {
                    uuidutils.generate_uuid(): (
                        self.get(group).members[0],
                        self.holds(group)[0],
                    )
                },
            )
            for _writer in range(WRITERS)
        ]

    def test_one_planner_gets_the_lease_and_sees_the_other_requests(self):
        for _round in range(ROUNDS):
            group = self.create()

            lease = self.one_acquires(group)

            requester = context.get_admin_context()
            self.assertFalse(lease.release(requester))
            self.assertEqual(WRITERS - 1, lease.waiters)
            self.assertTrue(lease.release(requester))
            self.assertNotIn('vrt_leases', fixtures.row_counts())
            group.purge(requester)

    def test_one_planner_takes_over_the_lease_of_a_dead_one(self):
        for _round in range(ROUNDS):
            group = self.create()
            [planner, *_] = self.planners(group, seconds=-60)
            planner()

            lease = self.one_acquires(group)

            requester = context.get_admin_context()
            kept = db.find_one(requester, models.Lease)
            self.assertEqual(lease.operation, kept.operation)
            group.purge(requester)

    def test_concurrent_acquire_and_release_lose_no_request(self):
        """Either the owner sees the request, or the other gets the lease."""
        for _round in range(ROUNDS):
            group = self.create()
            first, *others = self.planners(group)
            lease = first()

            is_released, *found = concurrency.call_concurrently(
                [call(lease.release), *others]
            )

            self.assertNotEqual(is_released, not any(found), found)
            group.purge(context.get_admin_context())

    def one_acquires(self, group):
        """Return the lease that exactly one planner acquires."""
        leases = concurrency.call_concurrently(self.planners(group))
        [lease] = filter(None, leases)
        return lease

    def planners(self, group, seconds=60):
        return [
            call(
                objects.VRTLease.acquire,
                *(group.id, f'planner-{own}'),
                *(uuidutils.generate_uuid(), seconds),
            )
            for own in range(WRITERS)
        ]

    def test_concurrent_commits_of_a_plan_admit_one(self):
        for _round in range(ROUNDS):
            group = self.create()
            later = timeutils.utcnow().replace(microsecond=0) + MINUTE
            written = [
                groups.create_holds(context.get_admin_context(), group)
                for _writer in range(WRITERS)
            ]
            lease = groups.acquire_lease(context.get_admin_context(), group)

            self.one_wins(
                [
                    call(
                        transitions.hold_group,
                        *(lease, self.get(group), holds, later),
                    )
                    for holds in written
                ],
                exception.GenerationConflict,
            )

            stored = self.get(group)
            self.assertEqual(
                (states.Group.HELD, 2, later),
                (stored.status, stored.generation, stored.expires_at),
            )
            self.assertEqual(
                {states.Member.HELD}, {each.status for each in stored.members}
            )
            held = {
                each.uuid
                for each in self.holds(group)
                if each.status == states.Hold.HELD
            }
            self.assertIn(
                held, [{each.uuid for each in holds} for holds in written]
            )

    def test_concurrent_groups_with_one_client_token_admit_one(self):
        for own_round in range(ROUNDS):
            token = f'token-{own_round}'

            self.one_wins(
                [call(self.create, client_token=token)] * WRITERS,
                db_exc.DBDuplicateEntry,
            )

        self.assertEqual(
            (ROUNDS, 3 * ROUNDS),
            (
                fixtures.row_counts()['vrt_groups'],
                fixtures.row_counts()['vrt_members'],
            ),
        )

    def test_concurrent_hold_and_release_exclude_each_other(self):
        for _round in range(ROUNDS):
            group = self.create()
            holds = groups.create_holds(context.get_admin_context(), group)
            lease = groups.acquire_lease(context.get_admin_context(), group)

            self.only_raise(
                [
                    call(
                        transitions.hold_group,
                        *(lease, self.get(group), holds),
                        timeutils.utcnow() + MINUTE,
                    ),
                    *[call(releases.release_members, self.get(group))] * 2,
                ],
                exception.GenerationConflict,
            )

            stored = self.get(group)
            self.assertIn(
                (
                    stored.status,
                    {each.status for each in stored.members},
                    {each.status for each in self.holds(group)},
                ),
                (
                    (
                        states.Group.PLANNING,
                        {states.Member.RELEASED},
                        {states.Hold.WRITING},
                    ),
                    (
                        states.Group.RELEASED,
                        {states.Member.RELEASED},
                        {states.Hold.RELEASING},
                    ),
                ),
            )

    def test_concurrent_changes_raise_no_database_error(self):
        for _round in range(ROUNDS):
            group = self.held()
            readers = [self.get(group) for _writer in range(2)]

            self.only_raise(
                [
                    *self.reserves(group)[:2],
                    *(
                        call(releases.release_members, reader)
                        for reader in readers
                    ),
                    *(
                        call(
                            member.change,
                            status,
                            server_uuid=uuidutils.generate_uuid(),
                        )
                        for member in self.get(group).members
                        for status in (
                            states.Member.REDEEMING,
                            states.Member.RELEASED,
                        )
                    ),
                ],
                exception.MemberStateConflict,
            )
            db.compare_and_set(
                context.get_admin_context(),
                models.Hold,
                status=states.Hold.RELEASED,
            )
            self.only_raise(
                [call(watched_holds.detach_tombstones, group.id)] * 2
            )
            self.only_raise([call(reader.purge) for reader in readers])

            self.assertEqual({}, fixtures.row_counts())


@databases.on(*servers.DATABASES)
class StoredValues(Objects):
    def test_stored_description_is_unchanged(self):
        group = self.get(self.create())

        self.assertEqual(
            groups.TOPOLOGY,
            topology.compose(group, lambda each: each.description),
        )

    def test_stored_json_is_unchanged(self):
        requester = context.get_admin_context()
        group = self.create()
        answer = {
            'text': 'Größe 東京 🐘 \' " \\ %s',
            'deep': [{'empty': [{}, [], '', None]}],
            'numbers': [0, -1, 2**53, 0.1, 1e-300],
            'truth': [True, False],
        }
        placements = dict.fromkeys(
            ('a', 'ä/東京'), groups.placement('Größe 東京', 1)
        )
        objects.VRTPlan(
            group_id=group.id,
            status=objects.VRTPlan.PLACED,
            placements=placements,
            answer=answer,
        ).create(requester)

        plan = objects.VRTPlan.find_newest(requester, group.id)

        self.assertEqual(answer, plan.answer)
        self.assertEqual(placements, plan.placements)

    def test_stored_texts_are_unchanged(self):
        text = 'Größe 東京 🐘'
        group = self.create(name=text, description=text, subgroups=[text])

        stored = self.get(group)

        self.assertEqual(
            (text, text, [text]),
            (stored.name, stored.description, stored.subgroups),
        )

    def test_longest_path_is_stored(self):
        path = '🐘' * 512
        group = self.create(**groups.single_members([path]))

        self.assertEqual(path, self.member(group, path).path)

    def test_similar_paths_are_different(self):
        paths = ['db', 'DB', 'Db', 'dß', 'dss', 'dä', 'da', '東京', '🐘', '🐢']
        group = self.create(**groups.single_members(paths))

        self.assertEqual(paths, [each.path for each in group.members])
        for path in paths:
            self.assertEqual(path, self.member(group, path).path)
        self.assertRaises(exception.MemberNotFound, self.member, group, 'dB')

    def test_similar_client_tokens_are_different(self):
        tokens = ['token', 'Token', 'tökén', 'tocken']
        made = [self.create(client_token=each).uuid for each in tokens]

        found = [
            objects.VRTGroup.find_by_token(
                context.get_admin_context(), 'project', each
            ).uuid
            for each in tokens
        ]

        self.assertEqual(made, found)

    def member(self, group, path):
        return objects.VRTMember.get_by_path(
            context.get_admin_context(),
            group.uuid,
            path,
            project_id=group.project_id,
        )

    def test_members_are_listed_with_their_committed_holds(self):
        group = self.held()
        [first, *rest] = self.holds(group)
        redeems.end_hold(context.get_admin_context(), first)

        promises = objects.VRTMember.list_with_holds(
            context.get_admin_context()
        )

        self.assertEqual(
            [(first.member_id, [])]
            + [(hold.member_id, [hold.uuid]) for hold in rest],
            [
                (member.id, [hold.uuid for hold in holds])
                for member, holds in promises
            ],
        )

    def test_statistics_count_rows_by_status(self):
        group = self.held()
        self.create()

        counts = statistics.statistics(context.get_admin_context())

        members = len(group.members)
        self.assertEqual(
            (1, 1, members, members, members, 0),
            (
                counts['groups']['HELD'],
                counts['groups']['PLANNING'],
                counts['members']['HELD'],
                counts['members']['TENTATIVE'],
                counts['holds']['HELD'],
                counts['oldest_releasing'],
            ),
        )

    def test_expiry_is_judged_by_the_clock_of_the_database(self):
        requester = context.get_admin_context()
        group = self.held()
        for ends_in, is_over in ((-5, True), (60, False)):
            db.compare_and_set(
                requester, models.Group, expires_at=clock.now(ends_in)
            )
            for own_clock in (-10 * MINUTE, 10 * MINUTE):
                timeutils.set_time_override(timeutils.utcnow() + own_clock)
                found = objects.VRTGroup.list_expired(requester)
                fresh = self.get(group)
                timeutils.clear_time_override()
                self.assertEqual(is_over, fresh.has_expired)
                self.assertEqual(is_over, bool(found))

    def test_row_times_come_from_the_clock_of_the_database(self):
        requester = context.get_admin_context()
        timeutils.set_time_override(timeutils.utcnow() - 10 * MINUTE)
        self.addCleanup(timeutils.clear_time_override)

        before = db.time(requester).replace(microsecond=0)
        group = self.held()
        for at in (group.created_at, self.get(group).updated_at):
            self.assertLessEqual(before, at)
            self.assertLessEqual(at, db.time(requester))
