# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/availability.py``."""

import types

import fixtures
from oslo_db import exception as db_exc
from oslotest import base

from nova_groupext import exception
from nova_groupext.scheduler import availability


class TestAvailability(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())

    def test_failed_step_is_logged_and_not_raised(self):
        def some_step(number):
            raise ZeroDivisionError(number)

        availability.run_step(some_step, 7)

        self.assertIn('some_step', self.log.output)
        self.assertIn('ZeroDivisionError: 7', self.log.output)

    def test_failed_step_of_a_group_names_the_group(self):
        def some_step():
            raise ZeroDivisionError

        availability.run_for(types.SimpleNamespace(uuid='abc'), some_step)

        self.assertIn('VRT group abc', self.log.output)

    def test_part_of_unknown_state_is_skipped(self):
        for error in (
            exception.PlacementUnavailable(reason='a test'),
            exception.GroupBusy(group=1),
            exception.GroupNotFound(group='abc'),
            db_exc.DBConnectionError(),
        ):
            with availability.skip_unavailable('host a'):
                raise error

        self.assertEqual(4, self.log.output.count('Skipping host a'))

    def test_isolated_part_is_skipped_after_any_error(self):
        for error in (
            exception.PlacementUnavailable(reason='a test'),
            exception.UnknownPolicyType(types='toy'),
            ZeroDivisionError('seven'),
        ):
            with availability.isolate('host a'):
                raise error

        self.assertEqual(3, self.log.output.count('Skipping host a'))
        self.assertIn('ZeroDivisionError: seven', self.log.output)

    def test_other_errors_of_a_part_are_raised(self):
        def fail(error):
            with availability.skip_unavailable('host a'):
                raise error

        for error in (ZeroDivisionError(), exception.HoldFailed(reason='x')):
            self.assertRaises(type(error), fail, error)
