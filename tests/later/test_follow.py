# SPDX-License-Identifier: Apache-2.0
"""Members that follow the end or the failure of their servers."""

import threading

import fixtures
from nova import exception as nova_exc
from nova import objects as nova_objects
from nova.virt import fake

from nova_groupext.conf import CONF
from nova_groupext.scheduler.audit import audit
from tests.functional import base
from tests.functional import following

UNSCHEDULED = 'FAILED', 'its server could not be scheduled'


class TestServers(following.FollowTestCase):
    """The reaper's decisions by a server's record and its allocation."""

    def redeemed(self, uuid):
        return self.redeem(uuid, 'a', 'm1.tiny', availability_zone='az1')

    def test_running_server_keeps_its_member_active(self):
        uuid = self.hold_one()
        self.redeemed(uuid)

        self.follow()

        self.assert_outcome(uuid, ('ACTIVE', None), following.ONE_HELD)

    def test_member_of_a_deleted_server_has_no_host(self):
        uuid = self.hold_one()
        self.delete_servers(self.redeemed(uuid))

        self.follow()

        self.assert_outcome(
            uuid, ('TENTATIVE', 'its server was deleted'), following.FREE
        )
        group = self.group(uuid)
        self.assertEqual('RELEASED', group['status'])
        self.assertIsNone(group['members'][0]['server_id'])

    def test_member_of_a_deleted_server_is_held_for_another(self):
        self.enable_rehold()
        uuid = self.hold_one()
        self.delete_servers(self.redeemed(uuid))

        self.follow()

        self.assert_reheld(uuid)

    def test_deleted_server_without_free_capacity_leaves_no_hold(self):
        self.enable_rehold()
        uuid = self.hold_one()
        self.delete_servers(self.redeemed(uuid))
        self.fill('cmp-1', VCPU=8)

        self.follow()

        self.assert_outcome(
            uuid,
            ('TENTATIVE', 'its server was deleted'),
            {**following.FREE, 'cmp-1': 0},
        )

    def test_deleted_server_without_quota_leaves_no_hold(self):
        self.enable_rehold()
        uuid = self.hold_one()
        self.delete_servers(self.redeemed(uuid))
        CONF.set_override('instances', 0, 'quota')
        self.addCleanup(CONF.clear_override, 'instances', 'quota')

        self.follow()

        self.assert_outcome(
            uuid, ('TENTATIVE', 'its server was deleted'), following.FREE
        )

    def test_late_allocation_of_a_deleted_server_is_released(self):
        """The allocation reappears after Nova has removed it."""
        uuid = self.hold_one()
        server = self.redeemed(uuid)
        written = self.cloud.placement.get(f'/allocations/{server.id}').json()
        self.delete_servers(server)
        del written['consumer_generation']
        self.cloud.placement.put(
            f'/allocations/{server.id}',
            json={**written, 'consumer_generation': None},
        )

        self.follow()

        self.assert_outcome(
            uuid, ('TENTATIVE', 'its server was deleted'), following.FREE
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

    def test_failed_build_fails_its_member(self):
        uuid = self.hold_one()
        self.fail_to_build(uuid)

        self.follow()

        self.assert_outcome(
            uuid, ('FAILED', 'its server could not be built'), following.FREE
        )

    def test_member_of_a_failed_build_is_held_for_another(self):
        self.enable_rehold()
        uuid = self.hold_one()
        with fixtures.MonkeyPatch(
            'nova.virt.fake.FakeDriver.spawn', fake.FakeDriver.spawn
        ):
            self.fail_to_build(uuid)

        self.follow()

        self.assert_outcome(uuid, ('HELD', None), following.ONE_HELD)

    def test_server_in_error_keeps_its_allocation(self):
        uuid = self.hold_one()
        server = self.redeemed(uuid)
        self.cloud.nova('admin').servers.reset_state(server.id, 'error')

        self.follow()

        self.assert_outcome(uuid, ('ACTIVE', None), following.ONE_HELD)

    def buried(self, uuid):
        return self.fail_build(uuid, 'a', availability_zone='az1')

    def test_capacity_of_an_unscheduled_server_is_taken_back(self):
        uuid = self.hold_one()
        server = self.buried(uuid)

        self.follow()

        self.assert_outcome(uuid, ('HELD', None), following.ONE_HELD)
        self.assertEqual('HELD', self.group(uuid)['status'])
        self.assertEqual({}, self.allocations(server.id))
        self.assertEqual([], audit.audit(self.context, self.placement_client))

    def test_member_of_an_unscheduled_server_may_be_released(self):
        uuid = self.hold_one()
        self.buried(uuid)
        self.follow()

        given_up = self.act(uuid, 'release', {'members': ['a']})

        self.assertEqual(202, given_up.status_code, given_up.text)
        self.eventually(lambda: self.holds_of(uuid), lambda rows: not rows)
        self.assertEqual(following.FREE, self.free())
        self.assertEqual('RELEASED', self.group(uuid)['status'])

    def test_unscheduled_server_of_a_deleted_group_is_released(self):
        uuid = self.hold_one()
        server = self.buried(uuid)

        self.delete_group(uuid)

        self.assertEqual({}, self.allocations(server.id))
        self.assertEqual(following.FREE, self.free())

    def test_unscheduled_server_without_allocation_fails_its_member(self):
        uuid = self.hold_one()
        server = self.buried(uuid)
        self.cloud.placement.delete(f'/allocations/{server.id}')

        self.follow()

        self.assert_outcome(uuid, UNSCHEDULED, following.FREE)
        self.assertEqual('RELEASED', self.group(uuid)['status'])

    def delete_before_scheduled(self, uuid):
        """Delete a server while the scheduler places it."""
        nova = self.cloud.nova('demo')
        self.call_after_scheduling(nova.servers.delete)
        server = self.create_member(uuid)
        self.eventually(
            lambda: self.member_outcomes(uuid)['a'][0],
            lambda now: now == 'ACTIVE',
        )
        self.eventually(self.allocations, lambda left: not left, server.id)
        self.eventually(
            self.server_ids, lambda left: server.id not in left, 'admin'
        )

    def test_server_deleted_during_scheduling_fails_its_member(self):
        uuid = self.hold_one()
        self.delete_before_scheduled(uuid)

        self.follow()

        self.assert_outcome(
            uuid,
            ('FAILED', 'its server was deleted before it was scheduled'),
            following.FREE,
        )

    def test_member_of_a_server_deleted_during_scheduling_is_held(self):
        self.enable_rehold()
        uuid = self.hold_one()
        self.delete_before_scheduled(uuid)

        self.follow()

        self.assert_outcome(uuid, ('HELD', None), following.ONE_HELD)

    def test_scheduled_server_without_allocation_stays_active(self):
        uuid = self.hold_one()
        has_scheduled, may_go_on = threading.Event(), threading.Event()
        self.addCleanup(may_go_on.set)

        def wait(server_uuid):
            # So that only its record says that the server will be built.
            self.cloud.placement.delete(f'/allocations/{server_uuid}')
            has_scheduled.set()
            may_go_on.wait()

        self.call_after_scheduling(wait)
        server = self.create_member(uuid)
        self.assertTrue(has_scheduled.wait(base.base.TIMEOUT_SECONDS))

        self.follow()

        self.assert_outcome(uuid, ('ACTIVE', None), following.FREE)
        may_go_on.set()
        self.wait_for_build(server)

    def test_server_in_an_unavailable_cell_stays_active(self):
        uuid = self.hold_one()
        self.delete_servers(self.redeemed(uuid))
        self.useFixture(
            following.fail_nova_query(
                nova_objects.InstanceList, 'get_by_filters'
            )
        )

        self.follow()

        self.assert_outcome(uuid, ('ACTIVE', None), following.FREE)
