# SPDX-License-Identifier: Apache-2.0
"""Automatic replacements of failed members, and their limits."""

from nova import exception as nova_exc
from nova.virt import fake

from nova_groupext.cloud import hosts
from tests import rounds
from tests.functional import changing_cloud


class TestFailed(changing_cloud.ChangingCloudTestCase):
    """A member whose server cannot be built on its first host."""

    HOSTS = (hosts.Host('cmp-1', vcpus=8), hosts.Host('cmp-2', vcpus=8))

    def setUp(self):
        super().setUp()
        self.hold(1)
        self.first = self.before['a-0']
        [self.other] = {'cmp-1', 'cmp-2'} - {self.first}
        self.broken = {self.first}
        spawn = fake.FakeDriver.spawn

        def perhaps(driver, *args, **kwargs):
            if driver._host in self.broken:
                raise nova_exc.BuildAbortException(
                    instance_uuid='', reason='it is broken'
                )
            return spawn(driver, *args, **kwargs)

        self.patch(fake.FakeDriver, 'spawn', perhaps)

    def fail_to_build(self):
        server = self.redeem(self.uuid, 'a-0', 'm1.tiny')
        self.assertEqual('ERROR', server.status)
        self.eventually(self.allocations, lambda left: not left, server.id)
        rounds.reap(self.planner, self.context)

    def outcome(self):
        [member] = self.members()
        return member['status'], self.planned_hosts(self.uuid)['a-0']

    def test_failed_member_is_replaced_up_to_the_limit(self):
        self.set_option('max_automatic_replacements', 1)
        self.set_option('rehold_after_server_end', True)

        self.fail_to_build()

        self.assertEqual(('HELD', self.other), self.outcome())
        self.assertEqual('HELD', self.group(self.uuid)['status'])
        self.assert_nothing_lost()

        self.broken = {self.other}
        self.fail_to_build()

        self.assertEqual(('FAILED', None), self.outcome())

    def test_server_is_created_on_the_replacement_host(self):
        self.set_option('max_automatic_replacements', 1)
        self.fail_to_build()

        self.assertEqual('ACTIVE', self.try_redeem(self.uuid, 'a-0'))
        rounds.reap(self.planner, self.context)
        self.assertEqual(('ACTIVE', self.other), self.outcome())

    def test_failed_member_is_not_replaced_by_default(self):
        self.fail_to_build()

        self.assertEqual(('FAILED', None), self.outcome())

    def test_failed_member_is_not_replaced_beyond_the_quota(self):
        self.set_option('max_automatic_replacements', 1)
        self.set_quota(instances=0)

        self.planner_fails_it()

        self.assertEqual(('FAILED', None), self.outcome())
        revision = self.group(self.uuid)['revision']
        self.assertEqual('ERROR', revision['status'])
        self.assertIn('instances', revision['fault']['message'])
        self.assertNotIn('operator', revision['fault']['message'])

    def planner_fails_it(self):
        """Disable the member's host, so that the reaper fails the member."""
        self.disable(self.first)
        rounds.reap(self.planner, self.context)

    def test_member_of_a_disabled_host_is_replaced(self):
        self.set_option('max_automatic_replacements', 1)

        self.planner_fails_it()

        self.assertEqual(('HELD', self.other), self.outcome())
        self.assert_nothing_lost()

    def test_unsuccessful_replacement_counts_as_an_attempt(self):
        self.set_option('max_automatic_replacements', 1)
        self.disable(self.other)

        self.planner_fails_it()
        self.assertEqual(('FAILED', None), self.outcome())
        self.services.enable(self.service(self.other))
        rounds.reap(self.planner, self.context)

        self.assertEqual(('FAILED', None), self.outcome())
