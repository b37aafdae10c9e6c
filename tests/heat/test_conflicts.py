# SPDX-License-Identifier: Apache-2.0
"""Updates of groups that hold nothing any more, or hold it for longer."""

from tests.heat import base
from tests.heat import hot


class TestHeldGroup(base.HeatTestCase):
    """The group is held; its server waits for a resource that fails."""

    def create(self, **group):
        status = self.create_stack(self.resources(**group))

        self.assertEqual('CREATE_FAILED', status[0], status)
        self.assertEqual({'a': 'HELD'}, self.statuses())

    def resources(self, **group):
        broken = {
            'type': 'OS::Heat::TestResource',
            'properties': {'fail': True},
            'depends_on': 'group',
        }
        a = {**hot.server('a'), 'depends_on': 'broken'}
        return {'group': hot.group(**group), 'broken': broken, 'a': a}

    def test_update_of_a_released_group_fails_with_the_reason(self):
        self.create()
        self.act(self.the_group()['id'], 'release')
        self.eventually(self.left, lambda left: not left)

        status, reason = self.update_stack(
            {'group': hot.group(), 'a': hot.server('a')}
        )

        self.assertEqual('UPDATE_FAILED', status)
        self.assertIn('it has no held members', reason)

    def test_time_of_expiry_is_updated(self):
        self.create(expires_in=300)
        before = self.the_group()['expires_at']

        self.update_stack(self.resources(expires_in=7200))

        self.assertLess(before, self.the_group()['expires_at'])

    def test_shelved_server_gets_no_other_flavor(self):
        """Nova cannot resize it either, before it is unshelved."""
        self.check_created({'group': hot.group(), 'a': hot.server('a')}, 'a')
        [server] = self.servers().values()
        server.shelve()
        self.eventually(
            lambda: self.servers()[server.id].status,
            lambda status: status == 'SHELVED_OFFLOADED',
        )
        self.follow()
        resized = hot.server('a', flavor='m1.small')

        status, reason = self.update_stack(
            {'group': hot.group(), 'a': resized}
        )

        self.assertEqual('UPDATE_FAILED', status)
        self.assertIn('a is SHELVED: the flavor changes only while', reason)
        self.assertEqual({'a': 'SHELVED'}, self.statuses())
