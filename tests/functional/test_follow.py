# SPDX-License-Identifier: Apache-2.0
"""What is concluded from what became of servers?"""

import threading

import fixtures
from nova import exception as nova_exc
from nova import objects as nova_objects
from nova.virt import fake

from nova_groupext.conf import CONF
from nova_groupext.scheduler.audit import audit
from tests.functional import base
from tests.functional import following

UNSCHEDULED = 'FAILED', 'its server was not scheduled'


class TestServers(following.FollowCase):
    """The reaper's table: a server's record, and what it owns."""

    def redeemed(self, uuid):
        return self.redeem(uuid, 'a', 'm1.tiny', availability_zone='az1')

    def test_a_live_server_owns_the_capacity(self):
        uuid = self.hold_one()
        self.redeemed(uuid)

        self.follow()

        self.assert_outcome(uuid, ('ACTIVE', None), following.ONE_HELD)

    def test_a_deleted_server_releases_its_member(self):
        uuid = self.hold_one()
        self.remove(self.redeemed(uuid))

        self.follow()

        self.assert_outcome(
            uuid, ('RELEASED', 'its server was deleted'), following.FREE
        )
        self.assertEqual('RELEASED', self.group(uuid)['status'])

    def test_for_a_deleted_server_another_may_come(self):
        self.hold_again()
        uuid = self.hold_one()
        self.remove(self.redeemed(uuid))

        self.follow()

        self.assert_held_again(uuid)

    def test_without_room_a_deleted_server_releases_its_member(self):
        self.hold_again()
        uuid = self.hold_one()
        self.remove(self.redeemed(uuid))
        self.fill('cmp-1', VCPU=8)

        self.follow()

        self.assert_outcome(
            uuid,
            ('RELEASED', 'its server was deleted'),
            {**following.FREE, 'cmp-1': 0},
        )

    def test_without_quota_a_deleted_server_releases_its_member(self):
        self.hold_again()
        uuid = self.hold_one()
        self.remove(self.redeemed(uuid))
        CONF.set_override('instances', 0, 'quota')
        self.addCleanup(CONF.clear_override, 'instances', 'quota')

        self.follow()

        self.assert_outcome(
            uuid, ('RELEASED', 'its server was deleted'), following.FREE
        )

    def test_what_a_deleted_server_still_owns_is_given_back(self):
        """Nova does so itself, but for what comes after that."""
        uuid = self.hold_one()
        server = self.redeemed(uuid)
        written = self.cloud.placement.get(f'/allocations/{server.id}').json()
        self.remove(server)
        del written['consumer_generation']
        self.cloud.placement.put(
            f'/allocations/{server.id}',
            json={**written, 'consumer_generation': None},
        )

        self.follow()

        self.assert_outcome(
            uuid, ('RELEASED', 'its server was deleted'), following.FREE
        )
        self.assertEqual({}, self.allocations(server.id))

    def fail_to_build(self, uuid):
        def spawn(*_args, **_kwargs):
            raise nova_exc.BuildAbortException(
                instance_uuid='', reason='a test'
            )

        self.useFixture(
            fixtures.MockPatchObject(fake.FakeDriver, 'spawn', spawn)
        )
        server = self.redeemed(uuid)
        self.assertEqual('ERROR', server.status)
        self.eventually(self.allocations, lambda left: not left, server.id)

    def test_a_server_that_could_not_be_built_fails_its_member(self):
        uuid = self.hold_one()
        self.fail_to_build(uuid)

        self.follow()

        self.assert_outcome(
            uuid, ('FAILED', 'its server could not be built'), following.FREE
        )

    def test_for_a_server_that_could_not_be_built_another_may_come(self):
        self.hold_again()
        uuid = self.hold_one()
        with fixtures.MonkeyPatch(
            'nova.virt.fake.FakeDriver.spawn', fake.FakeDriver.spawn
        ):
            self.fail_to_build(uuid)

        self.follow()

        self.assert_outcome(uuid, ('HELD', None), following.ONE_HELD)

    def test_a_broken_server_keeps_what_it_owns(self):
        uuid = self.hold_one()
        server = self.redeemed(uuid)
        self.cloud.nova('admin').servers.reset_state(server.id, 'error')

        self.follow()

        self.assert_outcome(uuid, ('ACTIVE', None), following.ONE_HELD)

    def buried(self, uuid):
        return self.bury(uuid, 'a', availability_zone='az1')

    def test_what_was_not_scheduled_is_held_again(self):
        uuid = self.hold_one()
        server = self.buried(uuid)

        self.follow()

        self.assert_outcome(uuid, ('HELD', None), following.ONE_HELD)
        self.assertEqual('HELD', self.group(uuid)['status'])
        self.assertEqual({}, self.allocations(server.id))
        self.assertEqual([], audit.audit(self.context, self.ledger))

    def test_what_was_not_scheduled_may_be_given_up(self):
        uuid = self.hold_one()
        self.buried(uuid)
        self.follow()

        given_up = self.act(uuid, 'release', {'members': ['a']})

        self.assertEqual(202, given_up.status_code, given_up.text)
        self.eventually(lambda: self.holds_of(uuid), lambda rows: not rows)
        self.assertEqual(following.FREE, self.free())
        self.assertEqual('RELEASED', self.group(uuid)['status'])

    def test_what_was_not_scheduled_of_a_deleted_group_is_given_back(self):
        uuid = self.hold_one()
        server = self.buried(uuid)

        self.delete_group(uuid)

        self.assertEqual({}, self.allocations(server.id))
        self.assertEqual(following.FREE, self.free())

    def test_what_was_not_scheduled_and_owns_nothing_fails_its_member(self):
        uuid = self.hold_one()
        server = self.buried(uuid)
        self.cloud.placement.delete(f'/allocations/{server.id}')

        self.follow()

        self.assert_outcome(uuid, UNSCHEDULED, following.FREE)
        self.assertEqual('RELEASED', self.group(uuid)['status'])

    def delete_before_scheduled(self, uuid):
        """Delete a server while its scheduler is at work."""
        nova = self.cloud.nova('demo')
        self.after_scheduling(nova.servers.delete)
        server = self.create_member(uuid)
        self.eventually(
            lambda: self.outcome(uuid)['a'][0], lambda now: now == 'ACTIVE'
        )
        self.eventually(self.allocations, lambda left: not left, server.id)
        self.eventually(
            self.server_ids, lambda left: server.id not in left, 'admin'
        )

    def test_what_was_deleted_before_it_was_scheduled_fails_its_member(self):
        uuid = self.hold_one()
        self.delete_before_scheduled(uuid)

        self.follow()

        self.assert_outcome(
            uuid,
            ('FAILED', 'its server was deleted before it was scheduled'),
            following.FREE,
        )

    def test_for_what_was_deleted_before_another_may_come(self):
        self.hold_again()
        uuid = self.hold_one()
        self.delete_before_scheduled(uuid)

        self.follow()

        self.assert_outcome(uuid, ('HELD', None), following.ONE_HELD)

    def test_what_is_still_to_come_is_waited_for(self):
        uuid = self.hold_one()
        has_scheduled, may_go_on = threading.Event(), threading.Event()
        self.addCleanup(may_go_on.set)

        def wait(server_uuid):
            # So that its record alone says that it is to come.
            self.cloud.placement.delete(f'/allocations/{server_uuid}')
            has_scheduled.set()
            may_go_on.wait()

        self.after_scheduling(wait)
        server = self.create_member(uuid)
        self.assertTrue(has_scheduled.wait(base.base.PATIENCE_SECONDS))

        self.follow()

        self.assert_outcome(uuid, ('ACTIVE', None), following.FREE)
        may_go_on.set()
        self.built(server)

    def test_of_a_cell_that_does_not_answer_nothing_is_concluded(self):
        uuid = self.hold_one()
        self.remove(self.redeemed(uuid))
        self.useFixture(
            following.silent(nova_objects.InstanceList, 'get_by_filters')
        )

        self.follow()

        self.assert_outcome(uuid, ('ACTIVE', None), following.FREE)
