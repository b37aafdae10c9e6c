# SPDX-License-Identifier: Apache-2.0
"""Are members that have failed placed anew, and not for ever?"""

from nova import exception as nova_exc
from nova.virt import fake

from nova_groupext.cloud import hosts
from tests import rounds
from tests.functional import world


class TestFailed(world.WorldCase):
    """Members that have failed are placed anew by the reaper."""

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
        return member['status'], self.planned(self.uuid)['a-0']

    def test_elsewhere_and_not_for_ever(self):
        self.override('max_automatic_replacements', 1)
        self.override('rehold_after_server_end', True)

        self.fail_to_build()

        self.assertEqual(('HELD', self.other), self.outcome())
        self.assertEqual('HELD', self.group(self.uuid)['status'])
        self.assert_nothing_lost()

        self.broken = {self.other}
        self.fail_to_build()

        self.assertEqual(('FAILED', None), self.outcome())

    def test_another_server_may_come_there(self):
        self.override('max_automatic_replacements', 1)
        self.fail_to_build()

        self.assertEqual('ACTIVE', self.attempt(self.uuid, 'a-0'))
        rounds.reap(self.planner, self.context)
        self.assertEqual(('ACTIVE', self.other), self.outcome())

    def test_not_unless_the_operator_wants_it(self):
        self.fail_to_build()

        self.assertEqual(('FAILED', None), self.outcome())

    def test_not_beyond_the_quota(self):
        self.override('max_automatic_replacements', 1)
        self.limit(instances=0)

        self.planner_fails_it()

        self.assertEqual(('FAILED', None), self.outcome())
        revision = self.group(self.uuid)['revision']
        self.assertEqual('ERROR', revision['status'])
        self.assertIn('instances', revision['fault']['message'])
        self.assertNotIn('operator', revision['fault']['message'])

    def planner_fails_it(self):
        """As the host is taken out of service; no server is needed."""
        self.disable(self.first)
        rounds.reap(self.planner, self.context)

    def test_who_has_lost_its_host_too(self):
        self.override('max_automatic_replacements', 1)

        self.planner_fails_it()

        self.assertEqual(('HELD', self.other), self.outcome())
        self.assert_nothing_lost()

    def test_tries_in_vain_count(self):
        self.override('max_automatic_replacements', 1)
        self.disable(self.other)

        self.planner_fails_it()
        self.assertEqual(('FAILED', None), self.outcome())
        self.services.enable(self.service(self.other))
        rounds.reap(self.planner, self.context)

        self.assertEqual(('FAILED', None), self.outcome())
