# SPDX-License-Identifier: Apache-2.0
"""Older releases of Nova, imitated by the names that they have."""

import copy
import os
import sys
import threading
import time
from unittest import mock

import fixtures
import futurist
from nova import context
from nova import manager
from nova import monkey_patch
from nova import utils
from nova.compute import provider_tree
from nova.compute import rpcapi
from nova.scheduler.client import report
from oslo_service import threadgroup
from oslotest import base

from nova_groupext import exception
from nova_groupext import nova_releases


class TreeWithLock:
    """ProviderTree of Nova 32: each tree has a lock that cannot be copied."""

    def __init__(self):
        self.lock = threading.Lock()
        self.roots = {}


class TestUseThreads(base.BaseTestCase):
    def patch_with(self, patch):
        self.useFixture(
            fixtures.MockPatchObject(monkey_patch, 'patch', new=patch)
        )

    def test_backend_is_named_where_nova_takes_one(self):
        self.useFixture(
            fixtures.EnvironmentVariable(nova_releases.NO_EVENTLET, '')
        )
        chosen = []
        self.patch_with(lambda backend='eventlet': chosen.append(backend))

        nova_releases.use_threads()

        self.assertEqual(['threading'], chosen)
        self.assertEqual('', os.environ[nova_releases.NO_EVENTLET])

    def test_environment_says_so_where_nova_takes_no_backend(self):
        self.useFixture(
            fixtures.EnvironmentVariable(nova_releases.NO_EVENTLET)
        )
        said = []
        self.patch_with(
            lambda: said.append(os.environ[nova_releases.NO_EVENTLET])
        )

        nova_releases.use_threads()

        self.assertEqual(['true'], said)

    def test_choice_of_the_operator_is_kept(self):
        self.useFixture(
            fixtures.EnvironmentVariable(nova_releases.NO_EVENTLET, 'false')
        )
        said = []
        self.patch_with(
            lambda: said.append(os.environ[nova_releases.NO_EVENTLET])
        )

        nova_releases.use_threads()

        self.assertEqual(['false'], said)


class TestComputes(base.BaseTestCase):
    def test_compute_has_the_topics_of_its_release(self):
        with mock.patch.object(rpcapi, 'RPC_TOPIC_ALT', 'alt', create=True):
            self.assertEqual(
                {'topic': 'compute', 'topic_alt': 'alt'},
                nova_releases.compute_topics(),
            )
            del rpcapi.RPC_TOPIC_ALT
            self.assertEqual(
                {'topic': 'compute'}, nova_releases.compute_topics()
            )

    def test_copied_tree_has_another_lock(self):
        tree = TreeWithLock()
        tree.roots = {'a': ['b']}
        self.useFixture(
            fixtures.MockPatchObject(
                provider_tree, 'ProviderTree', new=TreeWithLock
            )
        )
        self.assertRaises(TypeError, copy.deepcopy, tree)

        nova_releases.allow_computes_in_threads()
        copied = copy.deepcopy(tree)

        self.assertEqual(tree.roots, copied.roots)
        self.assertIsNot(tree.roots['a'], copied.roots['a'])
        self.assertIsNot(tree.lock, copied.lock)

    def test_live_migrations_get_a_pool_of_threads(self):
        green = futurist.GreenThreadPoolExecutor
        old = mock.create_autospec(green, instance=True)
        compute = mock.Mock(_live_migration_executor=old)

        nova_releases.use_threads_for_live_migrations(compute)

        new = compute._live_migration_executor
        self.addCleanup(new.shutdown)
        self.assertIsInstance(new, futurist.ThreadPoolExecutor)
        old.shutdown.assert_called_once_with()

    def test_other_pools_and_managers_are_kept(self):
        compute = mock.Mock(_live_migration_executor='a pool')

        nova_releases.use_threads_for_live_migrations(compute)
        nova_releases.use_threads_for_live_migrations(object())

        self.assertEqual('a pool', compute._live_migration_executor)


class TestStop(base.BaseTestCase):
    def stop_with(self, graceful_shutdown):
        """Return what is set for a manager of some release."""
        conf = mock.Mock()
        with mock.patch.object(
            manager.Manager,
            'graceful_shutdown',
            graceful_shutdown,
            create=True,
        ):
            nova_releases.stop_without_sleep(conf)
        return conf.set_override.mock_calls

    def test_time_is_none_where_services_always_sleep(self):
        self.assertEqual(
            [mock.call('manager_shutdown_timeout', 0)],
            self.stop_with(lambda self: None),
        )

    def test_limit_of_the_time_is_kept(self):
        self.assertEqual([], self.stop_with(lambda self, timeout: None))

    def test_running_call_of_a_timer_is_finished(self):
        began = threading.Event()
        calls = []

        def call():
            began.set()
            time.sleep(0.5)
            calls.append('ended')

        group = threadgroup.ThreadGroup()
        group.add_timer(0.01, call)
        began.wait()

        nova_releases.stop_timers(group)

        self.assertEqual(['ended'], calls)
        self.assertEqual([], group.timers)


class TestResets(base.BaseTestCase):
    def test_cells_are_forgotten_without_a_function_for_it(self):
        reset = getattr(context, 'reset_globals', None)
        if reset:
            del context.reset_globals
            self.addCleanup(setattr, context, 'reset_globals', reset)
        for name, value in (('CELL_CACHE', {'uuid': 1}), ('CELLS', [1])):
            self.useFixture(fixtures.MockPatchObject(context, name, new=value))

        nova_releases.reset_context()

        self.assertEqual({}, context.CELL_CACHE)
        self.assertEqual([], context.CELLS)

    def test_pools_of_nova_utils_are_closed_where_there_is_no_factory(self):
        # With None in place of a module its import fails.
        hidden = {'nova.thread_pool_factory': None}
        with (
            mock.patch.dict(sys.modules, hidden),
            mock.patch.object(
                utils, 'destroy_default_executor', create=True
            ) as close,
        ):
            nova_releases.reset_thread_pools()

        close.assert_called_once_with()


class TestReportClient(base.BaseTestCase):
    def test_placement_that_does_not_answer_at_first_is_unavailable(self):
        self.useFixture(
            fixtures.MockPatchObject(
                report,
                'SchedulerReportClient',
                side_effect=AttributeError(name='catalog_url'),
            )
        )

        self.assertRaises(
            exception.PlacementUnavailable, nova_releases.report_client
        )
