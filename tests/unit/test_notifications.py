# SPDX-License-Identifier: Apache-2.0
"""Notifications that are disabled or fail."""

from unittest import mock

import fixtures
from oslotest import base

from nova_groupext import notifications
from nova_groupext.conf import CONF
from nova_groupext.objects import states
from nova_groupext.objects.group import VRTGroup


class TestNotifications(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.read = self.useFixture(
            fixtures.MockPatchObject(VRTGroup, 'get')
        ).mock
        self.notifier = mock.Mock()
        self.set_notifier(self.notifier)

    def set_notifier(self, notifier):
        self.useFixture(fixtures.MonkeyPatch('nova.rpc.NOTIFIER', notifier))

    def format(self, name):
        CONF.set_override('notification_format', name, 'notifications')
        self.addCleanup(
            CONF.clear_override, 'notification_format', 'notifications'
        )

    def notify(self):
        notifications.notify_group(
            mock.sentinel.context, notifications.Event.HOLD, mock.Mock()
        )

    def test_disabled_notifications_read_nothing(self):
        self.format('unversioned')

        self.notify()

        self.read.assert_not_called()

    def test_notifications_without_a_message_bus_read_nothing(self):
        self.set_notifier(None)
        self.format('versioned')

        self.notify()

        self.read.assert_not_called()

    def test_error_is_logged_and_not_raised(self):
        self.format('versioned')
        self.read.side_effect = ValueError('the database is away')
        log = self.useFixture(fixtures.FakeLogger())

        self.notify()

        self.assertIn('the database is away', log.output)
        self.assertIn('vrt_group.hold', log.output)

    def test_every_end_of_planning_has_a_notification(self):
        """A revision may end in every state but PLANNING and RELEASING."""
        others = {states.Group.PLANNING, states.Group.RELEASING}

        self.assertEqual(
            {*states.Group} - others, {*notifications._EVENT_OF_STATUS}
        )
