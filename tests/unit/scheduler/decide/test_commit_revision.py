# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/decide/commit_revision.py``."""

import fixtures

from nova_groupext import exception
from nova_groupext import quota
from nova_groupext.objects import states
from nova_groupext.objects.move import VRTMove
from nova_groupext.scheduler.nova import servers
from tests.unit.scheduler import base


class CommitTestCase(base.ProtocolTestCase):
    """Two members on two full hosts, and a third, empty host."""

    def setUp(self):
        super().setUp()
        self.first, self.second, self.third = (
            self.deployment.make_provider(1) for _each in range(3)
        )
        self.uuid = self.deployment.hold_group([self.first, self.second])
        self.old = {'m-0': self.first, 'm-1': self.second}
        self.posts.clear()

    def revise(self, new, policies=(), **options):
        self.draft = self.deployment.revise(
            self.uuid, new, policies, **options
        )
        self.deployment.plan(self.draft)

    def draft_status(self):
        return self.deployment.group(self.draft).status

    def assert_on(self, providers):
        self.deployment.reap()
        self.assertEqual(providers, self.deployment.held_providers(self.uuid))
        self.assert_at_rest()


class TestWithoutSwap(CommitTestCase):
    """A member moves to free capacity: both holds exist for a while."""

    def setUp(self):
        super().setUp()
        self.new = {'m-0': self.third, 'm-1': self.second}

    def test_new_hold_is_filled_before_the_old_one_is_released(self):
        writes = self.points(self.revise, self.new)

        self.assertEqual(
            ['hold.post', 'revise.commit', 'release.post', 'release.commit'],
            writes,
        )
        self.assert_on(self.new)

    def test_crash_before_the_commit_leaves_the_group_as_it_was(self):
        for point in ('after hold.post', 'before revise.commit'):
            self.kill_at(point, self.revise, self.new)
            self.take_over(self.uuid)

            self.assertEqual(
                self.old, self.deployment.held_providers(self.uuid)
            )
            self.deployment.group(self.draft).mark_deleted(self.context)
        self.assert_on(self.old)

    def test_crash_after_the_commit_leaves_the_revised_group(self):
        self.kill_at('after revise.commit', self.revise, self.new)

        self.assert_on(self.new)

    def test_taken_capacity_leaves_the_group_as_it_was(self):
        draft = self.deployment.revise(self.uuid, self.new)
        stranger = self.deployment.fill(self.third)

        self.deployment.plan(draft)

        self.assertEqual('UNDECIDED', self.deployment.group(draft).status)
        self.deployment.delete_allocations(stranger)
        self.assert_on(self.old)

    def test_new_hold_beyond_capacity_is_released(self):
        """The host shrinks after Placement has accepted the hold."""
        self.call_at(
            'after hold.post',
            lambda: self.deployment.resize_provider(self.third, 0),
        )

        self.revise(self.new)

        self.assertEqual('UNDECIDED', self.draft_status())
        self.assert_on(self.old)

    def test_planner_without_the_lease_commits_nothing(self):
        self.deployment.revise(self.uuid, self.new)
        self.call_at('before revise.commit', lambda: self.take_over(self.uuid))

        self.serve(self.uuid)

        self.assertEqual(self.old, self.deployment.held_providers(self.uuid))
        self.assertEqual(2, self.used(self.first))

    def test_member_that_moved_meanwhile_is_decided_again(self):
        server = self.deployment.redeem(self.uuid, 'm-1')
        self.deployment.server_hosts[server] = self.second
        group = self.deployment.group(self.uuid)
        move = VRTMove(
            group_id=group.id,
            member_id=group.members[1].id,
            server_uuid=server,
            host=self.third,
            node=self.third,
        )
        self.call_at('before revise.commit', lambda: move.create(self.context))

        self.revise(self.new)

        self.assertEqual('UNDECIDED', self.draft_status())
        self.assertEqual(2, self.used(self.first))
        self.assertEqual(0, self.used(self.third))

    def test_capacity_beyond_the_quota_is_not_held(self):
        def check(*_args, **_kwargs):
            raise exception.LimitExceeded(reason='too many')

        self.useFixture(fixtures.MockPatchObject(quota, 'check', check))

        self.revise(self.new)

        draft = self.deployment.group(self.draft)
        self.assertEqual(('ERROR', 'too many'), (draft.status, draft.fault))
        self.assertEqual([], self.posts)
        self.assert_on(self.old)

    def test_quota_lowered_meanwhile_releases_new_holds_at_once(self):
        def check(*_args, **_kwargs):
            raise exception.LimitExceeded(reason='too many')

        self.call_at(
            'after hold.post',
            lambda: self.useFixture(
                fixtures.MockPatchObject(quota, 'check', check)
            ),
        )

        self.revise(self.new)

        self.assertEqual('ERROR', self.draft_status())
        self.assertEqual(0, self.used(self.third))
        self.assert_on(self.old)

    def test_foreign_consumer_on_a_new_exclusive_host_prevents_it(self):
        host = self.deployment.make_provider(2)

        def come():
            self.placement.inventories[host]['VCPU']['total'] += 2
            self.deployment.fill(host)

        self.call_at('after hold.post', come)

        self.revise({'m-0': host}, [base.EXCLUSIVE])

        self.assertEqual('UNDECIDED', self.draft_status())
        self.assertEqual(self.old, self.deployment.held_providers(self.uuid))


class TestWithSwap(CommitTestCase):
    """The members exchange their hosts, and a new one is added."""

    def setUp(self):
        super().setUp()
        self.new = {
            'm-0': self.second,
            'm-1': self.first,
            'm-2': self.third,
        }

    def test_separate_holds_are_filled_before_the_swap(self):
        writes = self.points(self.revise, self.new)

        self.assertEqual(
            ['hold.post', 'revise.prepare', 'swap.apply', 'revise.commit'],
            writes[:4],
        )
        self.assertEqual([1, 4], [len(body) for body in self.posts])
        self.assert_on(self.new)

    def test_crash_is_finished_by_the_next_owner(self):
        for point, providers in (
            ('after hold.post', self.old),
            ('after revise.prepare', self.old),
            ('after swap.apply', self.new),
        ):
            self.kill_at(point, self.revise, self.new)

            self.take_over(self.uuid)

            self.assertEqual(
                providers, self.deployment.held_providers(self.uuid), point
            )
            self.assert_one_owner()
            if providers is self.old:
                self.deployment.group(self.draft).mark_deleted(self.context)
        self.assert_on(self.new)

    def test_compensated_swap_releases_the_separate_holds(self):
        self.call_at('after revise.prepare', self.refuse_next_change)

        self.revise(self.new)

        self.assertEqual('UNDECIDED', self.draft_status())
        self.assertEqual(0, self.used(self.third))
        self.assert_on(self.old)

    def test_group_keeps_its_capacity_at_each_write(self):
        reached = []

        def look(point):
            reached.append(
                (self.used(self.first), self.used(self.second), point)
            )

        base.faultpoints.handler = look
        self.revise(self.new)
        base.faultpoints.handler = None

        self.assertEqual({(2, 2)}, {each[:2] for each in reached})


class TestAdoption(CommitTestCase):
    """A member adopts a server on the third host."""

    def setUp(self):
        super().setUp()
        self.server = self.deployment.fill(self.third)
        self.deployment.server_outcomes[self.server] = (
            servers.ServerOutcome.LIVE
        )
        self.deployment.server_hosts[self.server] = self.third
        self.new = {**self.old, 'm-2': self.third}

    def adopt(self):
        self.revise(self.new, adopts=[('m-2', self.server)])

    def test_adopted_server_is_the_members(self):
        self.adopt()

        self.assertEqual('ACTIVE', self.statuses(self.uuid)['m-2'])
        self.assert_at_rest()

    def test_server_that_moves_meanwhile_is_not_adopted(self):
        def move():
            self.deployment.server_hosts[self.server] = self.first

        self.call_at('after adopt.begin', move)

        self.adopt()

        self.assertEqual('UNDECIDED', self.draft_status())
        self.assertEqual(self.old, self.deployment.held_providers(self.uuid))
        self.assertNotIn('m-2', self.statuses(self.uuid))

    def test_server_whose_task_ends_is_adopted_by_the_next_attempt(self):
        self.set_option('planning_attempts', 2)
        moving = self.deployment.moving_servers

        def begin():
            moving.add(self.server)
            self.call_at('after revise.compensate', moving.clear)

        self.call_at('after adopt.begin', begin)

        self.adopt()

        self.assertEqual('ACTIVE', self.statuses(self.uuid)['m-2'])
        self.assertEqual(
            1, self.hold_statuses(self.uuid).count(states.Hold.REDEEMED)
        )
        self.assert_at_rest()
