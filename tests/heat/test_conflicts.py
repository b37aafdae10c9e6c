# SPDX-License-Identifier: Apache-2.0
"""Stacks whose groups the API refuses now, or for good."""

import threading

import fixtures
import webob.exc

from nova_groupext import exception
from nova_groupext.api import groups
from nova_groupext.api import vrt_groups
from nova_groupext.conf import CONF
from nova_groupext.scheduler.decide import decide
from tests.functional import base as functional
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
        self.assertIn('a is SHELVED: a flavor can be changed only for', reason)
        self.assertEqual({'a': 'SHELVED'}, self.statuses())


class TestTroubles(base.HeatTestCase):
    """The project has as many groups in planning as it may, or no answer."""

    WAITING = 'waiting'

    def setUp(self):
        super().setUp()
        CONF.set_override('max_planning_per_project', 1, 'vrt')
        self.addCleanup(CONF.clear_override, 'max_planning_per_project', 'vrt')
        self.go_on = threading.Event()
        self.addCleanup(self.go_on.set)
        self.refused = threading.Event()
        self.wrap(decide, '_attempt', self.wait)
        self.wrap(groups, 'check_planning_limit', self.note)

    def wrap(self, module, name, wrapper):
        usual = getattr(module, name)

        def call(*args):
            return wrapper(usual, *args)

        self.useFixture(fixtures.MockPatchObject(module, name, call))

    def wait(self, usual, work, *args):
        if work.group.name == self.WAITING:
            self.go_on.wait()
        return usual(work, *args)

    def note(self, usual, *args):
        try:
            usual(*args)
        except exception.TooManyPlanned:
            self.refused.set()
            raise

    def test_group_is_created_once_the_project_may_plan_it(self):
        topology = {'members': {'a': functional.member()}}
        other = self.post(name=self.WAITING, topology=topology, hold=False)
        self.assertEqual(202, other.status_code, other.text)

        self.start_stack({'group': hot.group(), 'a': hot.server('a')})
        self.assertTrue(self.refused.wait(60))
        self.go_on.set()

        status, reason = self.wait_for_stack()
        self.assertEqual('CREATE_COMPLETE', status, reason)

    def test_group_is_created_although_the_cloud_does_not_answer(self):
        """The answer to the creation is lost, and a poll has none."""
        errors = 2 * [webob.exc.HTTPServiceUnavailable]

        def fail_first(usual, *args):
            if errors:
                raise errors.pop()
            return usual(*args)

        self.wrap(vrt_groups.VRTGroupController, '_detail', fail_first)

        self.check_created({'group': hot.group(), 'a': hot.server('a')}, 'a')
        self.assertEqual([], errors)
        self.assertEqual(1, len(self.all_groups()))
