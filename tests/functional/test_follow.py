# SPDX-License-Identifier: Apache-2.0
"""What is concluded from what became of servers, holds and hosts?"""

import threading

import fixtures
from nova import exception as nova_exc
from nova import objects as nova_objects
from nova.virt import fake
from oslo_db import exception as db_exc

from nova_groupext import objects
from nova_groupext.cloud import hosts
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects import transitions
from nova_groupext.scheduler.follow import audit
from nova_groupext.scheduler.follow import follow
from tests.functional import base

FREE = {'cmp-1': 8, 'cmp-2': 8, 'cmp-3': 8}
ONE_HELD = {**FREE, 'cmp-1': 7}
UNSCHEDULED = 'FAILED', 'its server was not scheduled'
TRAP = 'nova_groupext.faultpoints.trap'


class FollowCase(base.StepTestCase):
    # Each zone has one host, so that a member's zone tells where it is.
    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),
        hosts.Host('cmp-2', 'r2', 'az2', vcpus=8),
        hosts.Host('cmp-3', 'r3', 'az3', vcpus=8),
    )

    def follow(self):
        for step in (
            follow.follow_servers,
            follow.follow_holds,
            follow.follow_hosts,
        ):
            step(self.context, self.ledger)

    def hold_one(self):
        """Describe and hold member ``a`` on cmp-1; returns the group's id."""
        return self.held({'members': {'a': in_zone('az1')}})['id']

    def create_member(self, uuid):
        return self.create(
            scheduler_hints=base.pointer(uuid, 'a'), availability_zone='az1'
        )

    def hold_again(self):
        CONF.set_override('hold_again', True, 'vrt')
        self.addCleanup(CONF.clear_override, 'hold_again', 'vrt')

    def outcome(self, uuid):
        """Return {path: (status, fault)} of the members."""
        return {
            each['path']: (each['status'], each['fault'])
            for each in self.group(uuid)['members']
        }

    def hold_of(self, uuid, path='a'):
        member = objects.VRTMember.get_by_path(
            self.context,
            uuid,
            path,
            project_id=self.cloud.sdk('demo').current_project_id,
        )
        return objects.VRTHold.get_by_member(self.context, member.id)

    def assert_outcome(self, uuid, outcome, free):
        """Check member ``a``, and that following again changes nothing."""
        for _round in range(2):
            self.assertEqual({'a': outcome}, self.outcome(uuid))
            self.assertEqual(free, self.free())
            self.follow()

    def assert_held_again(self, uuid):
        self.assert_outcome(uuid, ('HELD', None), ONE_HELD)
        self.assertEqual('HELD', self.group(uuid)['status'])
        self.assertEqual(
            'ACTIVE',
            self.redeem(uuid, 'a', 'm1.tiny', availability_zone='az1').status,
        )
        self.assertEqual(ONE_HELD, self.free())


def in_zone(zone, **more):
    return base.member(availability_zone=zone, **more)


class TestServers(FollowCase):
    """The reaper's table: a server's record, and what it owns."""

    def redeemed(self, uuid):
        return self.redeem(uuid, 'a', 'm1.tiny', availability_zone='az1')

    def test_a_live_server_owns_the_capacity(self):
        uuid = self.hold_one()
        self.redeemed(uuid)

        self.follow()

        self.assert_outcome(uuid, ('ACTIVE', None), ONE_HELD)

    def test_a_deleted_server_releases_its_member(self):
        uuid = self.hold_one()
        self.remove(self.redeemed(uuid))

        self.follow()

        self.assert_outcome(uuid, ('RELEASED', 'its server was deleted'), FREE)
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
            {**FREE, 'cmp-1': 0},
        )

    def test_without_quota_a_deleted_server_releases_its_member(self):
        self.hold_again()
        uuid = self.hold_one()
        self.remove(self.redeemed(uuid))
        CONF.set_override('instances', 0, 'quota')
        self.addCleanup(CONF.clear_override, 'instances', 'quota')

        self.follow()

        self.assert_outcome(uuid, ('RELEASED', 'its server was deleted'), FREE)

    def test_a_server_that_still_owns_something_is_not_followed(self):
        """Nova gives the capacity back only after the server is gone."""
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
        self.assert_outcome(uuid, ('ACTIVE', None), ONE_HELD)
        self.cloud.placement.delete(f'/allocations/{server.id}')
        self.follow()

        self.assert_outcome(uuid, ('RELEASED', 'its server was deleted'), FREE)

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
            uuid, ('FAILED', 'its server could not be built'), FREE
        )

    def test_for_a_server_that_could_not_be_built_another_may_come(self):
        self.hold_again()
        uuid = self.hold_one()
        with fixtures.MonkeyPatch(
            'nova.virt.fake.FakeDriver.spawn', fake.FakeDriver.spawn
        ):
            self.fail_to_build(uuid)

        self.follow()

        self.assert_outcome(uuid, ('HELD', None), ONE_HELD)

    def test_a_broken_server_keeps_what_it_owns(self):
        uuid = self.hold_one()
        server = self.redeemed(uuid)
        self.cloud.nova('admin').servers.reset_state(server.id, 'error')

        self.follow()

        self.assert_outcome(uuid, ('ACTIVE', None), ONE_HELD)

    def buried(self, uuid):
        return self.bury(uuid, 'a', availability_zone='az1')

    def test_what_was_not_scheduled_fails_and_keeps_what_it_owns(self):
        uuid = self.hold_one()
        self.buried(uuid)

        self.follow()

        self.assert_outcome(uuid, UNSCHEDULED, ONE_HELD)
        self.assertEqual('ACTIVE', self.group(uuid)['status'])
        self.assertEqual([], audit.audit(self.context, self.ledger))

    def test_what_was_not_scheduled_and_owns_nothing_fails_its_member(self):
        uuid = self.hold_one()
        server = self.buried(uuid)
        self.cloud.placement.delete(f'/allocations/{server.id}')

        self.follow()

        self.assert_outcome(uuid, UNSCHEDULED, FREE)
        self.assertEqual('RELEASED', self.group(uuid)['status'])

    def test_what_was_not_scheduled_is_let_go_when_it_owns_nothing(self):
        uuid = self.hold_one()
        server = self.buried(uuid)
        self.follow()
        self.cloud.placement.delete(f'/allocations/{server.id}')
        [finding] = audit.audit(self.context, self.ledger)
        self.assertEqual(audit.Kind.EMPTY_SERVER, finding.kind)

        self.follow()

        self.assert_outcome(uuid, UNSCHEDULED, FREE)
        self.assertEqual('RELEASED', self.group(uuid)['status'])
        self.assertEqual([], self.holds_of(uuid))

    def test_for_what_was_not_scheduled_another_may_come(self):
        """As soon as it owns nothing any more, not before."""
        self.hold_again()
        uuid = self.hold_one()
        server = self.buried(uuid)
        self.follow()
        self.assert_outcome(uuid, UNSCHEDULED, ONE_HELD)
        self.cloud.placement.delete(f'/allocations/{server.id}')

        self.follow()

        self.assert_outcome(uuid, ('HELD', None), ONE_HELD)
        self.assertEqual('HELD', self.group(uuid)['status'])

    def test_what_was_not_scheduled_may_be_given_up(self):
        uuid = self.hold_one()
        self.buried(uuid)
        self.follow()

        given_up = self.act(uuid, 'release', {'members': ['a']})

        self.assertEqual(202, given_up.status_code, given_up.text)
        self.eventually(lambda: self.holds_of(uuid), lambda rows: not rows)
        self.assertEqual(ONE_HELD, self.free())
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
            FREE,
        )

    def test_for_what_was_deleted_before_another_may_come(self):
        self.hold_again()
        uuid = self.hold_one()
        self.delete_before_scheduled(uuid)

        self.follow()

        self.assert_outcome(uuid, ('HELD', None), ONE_HELD)

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

        self.assert_outcome(uuid, ('ACTIVE', None), FREE)
        may_go_on.set()
        self.built(server)

    def test_of_a_cell_that_does_not_answer_nothing_is_concluded(self):
        uuid = self.hold_one()
        self.remove(self.redeemed(uuid))
        self.useFixture(silent(nova_objects.InstanceList, 'get_by_filters'))

        self.follow()

        self.assert_outcome(uuid, ('ACTIVE', None), FREE)


class TestHolds(FollowCase):
    """Our rows and Placement's."""

    def remove_hold(self, uuid):
        """Remove a hold as ``nova-manage placement audit --delete`` does."""
        hold = self.hold_of(uuid)
        self.cloud.placement.delete(f'/allocations/{hold.uuid}')
        return hold

    def test_a_removed_hold_is_held_again_under_a_new_uuid(self):
        uuid = self.hold_one()
        removed = self.remove_hold(uuid)

        self.follow()

        self.assertNotEqual(removed.uuid, self.hold_of(uuid).uuid)
        self.assert_held_again(uuid)

    def test_a_removed_hold_for_which_is_no_room_fails_its_member(self):
        uuid = self.hold_one()
        self.remove_hold(uuid)
        self.fill('cmp-1', VCPU=8)

        self.follow()

        self.assert_outcome(
            uuid, ('FAILED', follow.HOLD_IS_LOST), {**FREE, 'cmp-1': 0}
        )
        self.assertEqual('RELEASED', self.group(uuid)['status'])

    def shrink_by(self, vcpus):
        self.shrink(self.cloud.provider('cmp-1'), 'VCPU', reserved=vcpus)

    def test_of_what_is_too_much_the_highest_uuid_goes(self):
        uuid = self.held({'members': {'a': in_zone('az1', count=3)}})['id']
        holds = sorted(self.holds_of(uuid), key=lambda hold: hold.uuid)
        [*stay, _goes] = [hold.member_id for hold in holds]
        self.shrink_by(6)

        self.follow()

        members = objects.VRTGroup.get(self.context, uuid).members
        self.assertEqual(
            {
                each.id: ('HELD', None)
                if each.id in stay
                else ('FAILED', 'there is less capacity than was held')
                for each in members
            },
            {each.id: (each.status, each.fault) for each in members},
        )
        self.assertEqual({**FREE, 'cmp-1': 0}, self.free())

    def test_who_is_a_server_stays_where_is_too_much(self):
        uuid = self.held({'members': {'a': in_zone('az1', count=2)}})['id']
        self.redeem(uuid, 'a-0', 'm1.tiny', availability_zone='az1')
        self.shrink_by(7)

        self.follow()

        self.assertEqual(
            {
                'a-0': ('ACTIVE', None),
                'a-1': ('FAILED', 'there is less capacity than was held'),
            },
            self.outcome(uuid),
        )

    def test_what_leaves_goes_before_what_stays(self):
        uuid = self.held({'members': {'a': in_zone('az1', count=2)}})['id']
        holds = sorted(self.holds_of(uuid), key=lambda hold: hold.uuid)
        leaves, stays = holds
        transitions.end_hold(self.context, leaves, states.Hold.LEAVING)
        self.shrink_by(7)

        self.follow()

        self.assertIn(
            stays.uuid,
            {
                hold.uuid
                for hold in self.holds_of(uuid)
                if hold.status == states.Hold.HELD
            },
        )


class HostCase(FollowCase):
    """Hosts that the operator takes away."""

    def hold_everywhere(self):
        uuid = self.held(
            {
                'members': {
                    'a': in_zone('az1'),
                    'b': in_zone('az2'),
                    'c': in_zone('az3'),
                }
            }
        )['id']
        self.assertEqual({'cmp-1': 7, 'cmp-2': 7, 'cmp-3': 7}, self.free())
        return uuid

    def service(self, host):
        services = self.cloud.nova('admin').services
        [found] = services.list(host=host, binary='nova-compute')
        return services, found.id

    def disable(self, host):
        services, compute = self.service(host)
        services.disable(compute)
        self.addCleanup(services.enable, compute)

    def assert_lost(self, path, uuid):
        self.assertEqual(
            {
                'a': ('HELD', None),
                'b': ('HELD', None),
                'c': ('HELD', None),
                path: ('FAILED', follow.HOST_IS_GONE),
            },
            self.outcome(uuid),
        )
        self.assertEqual('HELD', self.group(uuid)['status'])


class TestHosts(HostCase):
    def test_of_a_disabled_host_everything_is_given_back(self):
        uuid = self.hold_everywhere()
        self.disable('cmp-1')

        self.follow()

        self.assert_lost('a', uuid)
        self.assertEqual({'cmp-1': 8, 'cmp-2': 7, 'cmp-3': 7}, self.free())

    def test_a_host_that_is_down_may_come_back(self):
        uuid = self.hold_everywhere()
        services, compute = self.service('cmp-1')
        services.force_down(compute, True)
        self.addCleanup(services.force_down, compute, False)

        self.follow()

        self.assertEqual({('HELD', None)}, {*self.outcome(uuid).values()})

    def test_of_a_cell_that_does_not_answer_nothing_is_concluded(self):
        uuid = self.hold_everywhere()
        self.disable('cmp-1')
        self.useFixture(silent(nova_objects.Service, 'get_by_compute_host'))

        self.follow()

        self.assertEqual({('HELD', None)}, {*self.outcome(uuid).values()})


class TestSlowRedeem(HostCase):
    """The reaper comes by when a swap is done and not yet remembered."""

    def redeem_during(self, change):
        """Redeem a member; what holds is changed and followed meanwhile."""
        uuid = self.hold_one()

        def trap(point):
            if point == 'before redeem.close':
                change()
                self.follow()

        self.useFixture(fixtures.MonkeyPatch(TRAP, trap))
        server = self.redeem(uuid, 'a', 'm1.tiny', availability_zone='az1')
        self.assertEqual('ACTIVE', server.status)
        self.assert_outcome(uuid, ('ACTIVE', None), ONE_HELD)
        self.assertEqual(
            [states.Hold.REDEEMED],
            [hold.status for hold in self.holds_of(uuid)],
        )

    def test_a_swapped_hold_was_not_removed(self):
        self.redeem_during(lambda: None)

    def test_a_swapped_hold_is_not_lost_with_its_host(self):
        self.redeem_during(lambda: self.disable('cmp-1'))


class TestDeletedHost(HostCase):
    """Has a cloud of its own: the host does not come back."""

    def test_of_a_deleted_host_everything_is_given_back(self):
        uuid = self.hold_everywhere()
        provider = self.cloud.provider('cmp-3')
        services, compute = self.service('cmp-3')
        services.delete(compute)

        self.follow()

        self.assert_lost('c', uuid)
        self.assertEqual({}, self.ledger.used(self.context, provider) or {})


def silent(kind, method):
    """Let the database not answer one question of Nova's."""

    def fail(*_args, **_kwargs):
        raise db_exc.DBConnectionError

    return fixtures.MockPatchObject(kind, method, fail)
