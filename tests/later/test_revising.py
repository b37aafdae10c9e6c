# SPDX-License-Identifier: Apache-2.0
"""Revisions of groups that have holds and servers."""

import fixtures
from nova.scheduler.client import report
from oslo_db import exception as db_exc

from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.db import clock
from nova_groupext.objects import releases
from nova_groupext.objects import revisions
from nova_groupext.objects import states
from nova_groupext.scheduler import serve
from nova_groupext.scheduler.placement import client
from nova_groupext.scheduler.protocol import ownership
from nova_groupext.scheduler.redeem import reserve
from tests.functional import base
from tests.functional import foreign_consumers
from tests.functional import revising

APART = {'type': 'anti-affinity', 'scope': 'host'}


class TestRevising(revising.RevisingTestCase):
    def test_larger_count_keeps_holds_and_adds_more(self):
        uuid = self.hold_group({'members': {'a': base.member(count=2)}})['id']
        before = self.held_hosts(uuid)

        group = self.put_revision(
            uuid, {'members': {'a': base.member(count=5)}}
        )

        self.assertEqual(
            {f'a-{n}': 'HELD' for n in range(5)}, self.member_statuses(group)
        )
        self.assertEqual(5, len(self.held_hosts(uuid)))
        self.assertLessEqual(before.items(), self.held_hosts(uuid).items())
        self.assertEqual(3, sum(self.free().values()))

    def test_added_member_satisfies_the_policies_with_the_servers(self):
        topology = {'members': {'a': base.member()}, 'policies': [APART]}
        uuid = self.hold_group(topology)['id']
        server = self.redeem(uuid, 'a', 'm1.tiny')

        self.put_revision(
            uuid,
            {**topology, 'members': {'a': base.member(), 'b': base.member()}},
        )

        planned = self.planned_hosts(uuid)
        self.assertEqual(self.host_of(server), planned['a'])
        self.assertNotEqual(planned['a'], planned['b'])
        self.assertEqual('ACTIVE', self.try_redeem(uuid, 'b'))

    def test_holds_of_removed_members_are_released(self):
        uuid = self.hold_group({'members': {'a': base.member(count=5)}})['id']

        group = self.put_revision(uuid, {'members': {'b': base.member()}})

        self.assertEqual({'b': 'HELD'}, self.member_statuses(group))
        self.eventually(lambda: sum(self.free().values()), lambda n: n == 7)
        self.assertEqual(1, len(self.holds_of(uuid)))

    def test_revision_keeps_an_extended_expiry(self):
        topology = {'members': {'a': base.member()}}
        uuid = self.hold_group(topology, expires_in=100)['id']
        self.act(uuid, 'extend', {'expires_in': 5000})
        before = self.group(uuid)['expires_at']

        group = self.put_revision(
            uuid, {'members': {'a': base.member(count=2)}}
        )

        self.assertEqual(before, group['expires_at'])

    def test_revision_changes_name_and_description(self):
        topology = {'members': {'a': base.member()}}
        uuid = self.hold_group(topology)['id']

        group = self.put_revision(
            uuid, topology, name='new', description='text'
        )

        self.assertEqual(
            ('new', 'text'), (group['name'], group['description'])
        )


class TestShowing(revising.RevisingTestCase):
    def test_shown_group_is_not_older_than_its_revision(self):
        """The revision ends after the group and before its drafts are read."""
        uuid = self.hold_group({'members': {'a': base.member()}})['id']
        drafts_of = objects.VRTGroup.drafts_by_group
        topologies = [{'members': {'b': base.member()}}]

        def revise_and_look(*args, **options):
            if topologies:
                self.put_revision(uuid, topologies.pop())
            return drafts_of(*args, **options)

        self.patch(objects.VRTGroup, 'drafts_by_group', revise_and_look)

        group = self.group(uuid)

        self.assertEqual({'b': 'HELD'}, self.member_statuses(group))


class TestRefusal(revising.RevisingTestCase):
    def setUp(self):
        super().setUp()
        self.topology = {'members': {'a': base.member(count=2)}}
        self.uuid = self.hold_group(self.topology)['id']

    def test_refused_revision_changes_nothing_and_has_a_conflict(self):
        before = self.group(self.uuid), self.held_hosts(self.uuid)
        wanted = {'members': {'a': base.member(count=20)}}

        group = self.put_and_wait(self.uuid, wanted)

        revision = group.pop('revision')
        self.assertEqual('REFUSED', revision['status'])
        self.assertTrue(revision['refusal']['conflict'])
        self.assertEqual(wanted, revision['topology'])
        self.assertEqual(before[0]['members'], group['members'])
        self.assertEqual(before[0]['topology'], group['topology'])
        self.assertEqual(before[1], self.held_hosts(self.uuid))

        self.put_revision(self.uuid, {'members': {'a': base.member(count=3)}})

    def test_outdated_generation_is_a_conflict(self):
        outdated = self.group(self.uuid)['generation']
        self.put_revision(self.uuid, {'members': {'a': base.member(count=3)}})

        self.assertRefused(
            409,
            'has changed since',
            self.put(self.uuid, self.topology, outdated),
        )

    def test_server_is_pending_when_another_zone_is_described(self):
        self.redeem(self.uuid, 'a-1', 'm1.tiny')
        in_zone = base.member(count=2, availability_zone='az1')

        self.put_revision(self.uuid, {'members': {'a': in_zone}})

        pending = {
            each['path']: each['pending']
            for each in self.group(self.uuid)['members']
        }
        change = {
            'from': {'availability_zone': None},
            'to': {'availability_zone': 'az1'},
        }
        self.assertEqual({'a-0': None, 'a-1': change}, pending)

    def test_revision_of_a_released_group_is_a_conflict(self):
        self.act(self.uuid, 'release')

        self.assertRefused(
            409, 'create a new group', self.put(self.uuid, self.topology)
        )

    def test_revision_of_a_concurrently_released_group_is_undecided(self):
        plan = serve.GroupServer._plan

        def release_and_plan(*args):
            group = objects.VRTGroup.get(self.context, self.uuid)
            releases.release_members(self.context, group)
            return plan(*args)

        self.patch(serve.GroupServer, '_plan', release_and_plan)

        group = self.put_and_wait(
            self.uuid, {'members': {'a': base.member(count=3)}}
        )

        self.assertEqual('RELEASED', group['status'])
        self.assertEqual('UNDECIDED', group['revision']['status'])
        self.assertIn(
            'create a new group', group['revision']['fault']['message']
        )


class TestExchange(revising.RevisingTestCase):
    HOSTS = (
        hosts.Host('cmp-1', vcpus=4),
        hosts.Host('cmp-2', vcpus=2),
    )

    def test_members_exchange_hosts_without_other_capacity(self):
        large, small = base.member('m1.large'), base.member('m1.medium')
        uuid = self.hold_group({'members': {'a': large, 'b': small}})['id']
        self.assertEqual(
            {'a': 'cmp-1', 'b': 'cmp-2'}, self.planned_hosts(uuid)
        )

        self.put_revision(uuid, {'members': {'a': small, 'b': large}})

        self.assertEqual(
            {'a': 'cmp-2', 'b': 'cmp-1'}, self.planned_hosts(uuid)
        )
        self.assertEqual({'cmp-1': 0, 'cmp-2': 0}, self.free())
        self.assertEqual('ACTIVE', self.try_redeem(uuid, 'a', 'm1.medium'))


class TestRedefining(revising.RevisingTestCase):
    def test_revision_of_a_group_without_holds_is_planned_as_a_whole(self):
        one = {'members': {'a': base.member()}}
        uuid = self.describe(one, hold=False)['id']
        two = {'members': {'a': base.member('m1.medium'), 'b': base.member()}}

        self.assertEqual(202, self.put(uuid, two).status_code)

        group = self.eventually(
            self.group, lambda now: now['status'] == 'PLANNED', uuid
        )
        self.assertEqual(two, group['topology'])
        self.assertEqual({'a', 'b'}, set(self.planned_hosts(uuid)))


class TestReplanning(revising.RevisingTestCase):
    def replanned(self, uuid, body=None):
        response = self.act(uuid, 'replan', body)
        self.assertEqual(202, response.status_code, response.text)
        return self.eventually(
            self.group,
            lambda now: (
                revising.is_decided(now) and now['status'] != 'PLANNING'
            ),
            uuid,
        )

    def fail(self, uuid, path):
        """Fail a held member, as a failed build would."""
        [member] = [
            each
            for each in objects.VRTGroup.get(self.context, uuid).members
            if each.path == path
        ]
        hold = objects.VRTHold.find_by_member(self.context, member.id)
        values = {'status': states.Member.FAILED, 'fault': 'it burnt down'}
        ownership.end(self.context, hold, member, values)

    def setUp(self):
        super().setUp()
        self.placement_client = client.PlacementClient(
            report.SchedulerReportClient()
        )

    def test_failed_member_is_held_on_another_host(self):
        uuid = self.hold_group({'members': {'a': base.member(count=2)}})['id']
        failed_on = self.planned_hosts(uuid)['a-0']
        self.fail(uuid, 'a-0')

        group = self.replanned(uuid)

        self.assertEqual(
            {'a-0': 'HELD', 'a-1': 'HELD'}, self.member_statuses(group)
        )
        self.assertIsNone(group['members'][0]['fault'])
        self.assertNotEqual(failed_on, self.planned_hosts(uuid)['a-0'])
        self.assertEqual('ACTIVE', self.try_redeem(uuid, 'a-0'))

    def test_group_of_failed_members_is_held_on_another_host(self):
        uuid = self.hold_group({'members': {'a': base.member()}})['id']
        failed_on = self.planned_hosts(uuid)['a']
        self.fail(uuid, 'a')
        self.assertEqual('RELEASED', self.group(uuid)['status'])

        group = self.replanned(uuid)

        self.assertEqual(
            ('HELD', {'a': 'HELD'}),
            (group['status'], self.member_statuses(group)),
        )
        self.assertNotEqual(failed_on, self.planned_hosts(uuid)['a'])

    def test_failed_member_is_held_where_it_failed_if_nowhere_else(self):
        topology = {
            'members': {'a': base.member(count=len(self.HOSTS))},
            'policies': [APART],
        }
        uuid = self.hold_group(topology)['id']
        hosts = self.planned_hosts(uuid)
        self.fail(uuid, 'a-0')

        self.assertEqual('HELD', self.replanned(uuid)['status'])
        self.assertEqual(hosts, self.planned_hosts(uuid))

    def test_replan_of_a_released_group_holds_it(self):
        uuid = self.hold_group({'members': {'a': base.member(count=2)}})['id']
        self.act(uuid, 'release')
        self.eventually(self.free, lambda free: sum(free.values()) == 8)

        group = self.replanned(uuid)

        self.assertEqual(
            {'a-0': 'HELD', 'a-1': 'HELD'}, self.member_statuses(group)
        )
        self.assertEqual(6, sum(self.free().values()))

    def test_only_named_members_move(self):
        """A move of either member would satisfy the soft policy."""
        together = {'type': 'affinity', 'scope': 'host', 'strict': False}
        others = [
            foreign_consumers.fill(self.cloud, host.name, VCPU=3)
            for host in self.HOSTS
        ]
        uuid = self.hold_group(
            {
                'members': {'a': base.member(), 'b': base.member()},
                'policies': [together],
            }
        )['id']
        before = self.planned_hosts(uuid)
        self.assertEqual(2, len(set(before.values())))
        for each in others:
            self.cloud.placement.delete(f'/allocations/{each}')

        self.replanned(uuid, {'members': ['b']})

        self.assertEqual(
            dict.fromkeys('ab', before['a']), self.planned_hosts(uuid)
        )

    def test_replan_of_a_member_with_a_server_is_a_conflict(self):
        uuid = self.hold_group({'members': {'a': base.member()}})['id']
        self.redeem(uuid, 'a', 'm1.tiny')

        self.assertRefused(
            409,
            'members with servers cannot be replanned',
            self.act(uuid, 'replan', {'members': ['a']}),
        )

    def test_replan_of_an_unknown_member_is_not_found(self):
        uuid = self.hold_group({'members': {'a': base.member()}})['id']

        self.assertRefused(
            404,
            'has no member b',
            self.act(uuid, 'replan', {'members': ['b']}),
        )


class TestExpired(revising.PlanningTestCase):
    """Groups that have expired before the reaper releases their holds."""

    def test_change_of_an_expired_group_is_a_conflict(self):
        topology = {'members': {'a': base.member()}}
        uuid = self.post(topology=topology).json()['vrt_group']['id']
        self.addCleanup(self.delete_and_check, uuid)
        self.plan(uuid)
        self.change_row(uuid, expires_at=clock.now(-1))
        group = self.group(uuid)

        for response in (
            self.act(uuid, 'extend'),
            self.act(uuid, 'replan'),
            self.put(uuid, {'members': {'b': base.member()}}),
            self.api().put(
                f'{base.GROUPS}/{uuid}',
                json={
                    'vrt_group': {
                        'generation': group['generation'],
                        'expires_in': 60,
                    }
                },
            ),
        ):
            self.assertRefused(
                409, f'it expired at {group["expires_at"]}', response
            )


class TestDying(revising.PlanningTestCase):
    """Revisions whose planner dies and that another planner finishes."""

    POINTS = ('before swap.apply', 'after swap.apply', 'after revise.commit')
    HOSTS = TestExchange.HOSTS
    LARGE, SMALL = base.member('m1.large'), base.member('m1.medium')
    OLD = {'members': {'a': LARGE, 'b': SMALL}}
    # The members exchange their hosts; no other capacity is free.
    NEW = {'members': {'a': SMALL, 'c': LARGE}}

    def described(self):
        """Return the uuids of a held group and of its draft."""
        uuid = self.post(topology=self.OLD).json()['vrt_group']['id']
        self.addCleanup(self.delete_and_check, uuid)
        self.plan(uuid)
        self.assertEqual('HELD', self.group(uuid)['status'])
        return uuid, self.put_draft(uuid, self.NEW)

    def delete_group(self, uuid, user='demo'):
        """Leave the deletion to the test, as no planner service runs."""

    def test_death_at_any_point_leaves_the_group_old_or_new(self):
        for point in self.POINTS:
            uuid, draft = self.described()

            self.kill_at(point, draft)

            is_new = point == 'after revise.commit'
            self.check(uuid, self.NEW if is_new else self.OLD, point)
            # The next planner finishes the swap, or plans the draft.
            self.plan(draft)
            self.reap()
            self.check(uuid, self.NEW, point)
            self.assertEqual([], self.audit(), point)
            self.delete_and_check(uuid)

    def test_capacity_of_an_unfinished_swap_is_never_free(self):
        """The holds of an unfinished swap are kept across reaper rounds."""
        uuid, draft = self.described()
        self.kill_at('before revise.commit', draft)
        self.make_draft_old(draft)

        for _round in range(2):
            self.planner.reap(self.context)
            self.assertEqual({'cmp-1': 0, 'cmp-2': 0}, self.free())
        self.reap()

        self.check(uuid, self.NEW, 'later')
        self.assertEqual([], self.audit())

    def test_redeem_during_a_swap_is_refused(self):
        self.patch(reserve, 'MAX_ATTEMPTS', 1)
        uuid, draft = self.described()
        self.kill_at('before revise.commit', draft)

        told = self.try_redeem(uuid, 'a', 'm1.large')

        self.assertIn('its group is being revised', told)
        self.plan(draft)
        self.check(uuid, self.NEW, told)
        self.assertEqual([], self.audit())

    def fail_once(self, name):
        """Make a function raise an unexpected error once."""
        stock = getattr(revisions, name)

        def fail(*_args, **_kwargs):
            self.patch(revisions, name, stock)
            raise ValueError

        self.patch(revisions, name, fail)

    def test_unexpected_error_before_the_swap_keeps_the_group(self):
        uuid, draft = self.described()
        before = self.planned_hosts(uuid)
        self.fail_once('prepare')

        self.plan(draft)

        group = self.group(uuid)
        self.assertEqual('ERROR', group['revision']['status'])
        self.check(uuid, self.OLD, 'prepare')
        self.assertEqual(before, self.planned_hosts(uuid))
        self.assertEqual([], self.audit())

    def test_unexpected_error_after_the_swap_still_revises_the_group(self):
        uuid, draft = self.described()
        self.fail_once('commit')

        self.plan(draft)

        self.assertIsNone(self.group(uuid)['revision'])
        self.check(uuid, self.NEW, 'commit')
        self.assertEqual([], self.audit())

    def check(self, uuid, topology, point):
        """Expect that the group has a topology, and all members are HELD."""
        self.planner.reap(self.context)
        group = self.group(uuid)
        self.assertEqual(topology, group['topology'], point)
        self.assertEqual(
            dict.fromkeys(topology['members'], 'HELD'),
            self.member_statuses(group),
            point,
        )

    def test_database_failure_at_the_commit_is_retried(self):
        uuid, draft = self.described()

        def fail(*_args, **_kwargs):
            raise db_exc.DBError

        with fixtures.MonkeyPatch(
            'nova_groupext.objects.revisions.commit', fail
        ):
            self.plan(draft)
        self.assertEqual('PLANNING', self.group(uuid)['revision']['status'])

        self.planner.beat(self.context)
        self.planner.serve_waiting(self.context)

        self.check(uuid, self.NEW, 'the next try')
        self.assertEqual([], self.audit())
