# SPDX-License-Identifier: Apache-2.0
"""Is nothing done, and nothing lost, where nobody listens?"""

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

    def tell(self):
        notifications.of_group(
            mock.sentinel.context, notifications.Event.HOLD, mock.Mock()
        )

    def test_nothing_is_read_for_notifications_that_are_off(self):
        self.format('unversioned')

        self.tell()

        self.read.assert_not_called()

    def test_nothing_is_read_where_there_is_no_message_bus(self):
        self.set_notifier(None)
        self.format('versioned')

        self.tell()

        self.read.assert_not_called()

    def test_trouble_is_logged_and_goes_no_further(self):
        self.format('versioned')
        self.read.side_effect = ValueError('the database is away')
        log = self.useFixture(fixtures.FakeLogger())

        self.tell()

        self.assertIn('the database is away', log.output)
        self.assertIn('vrt_group.hold', log.output)

    def test_every_end_of_planning_has_its_notification(self):
        """Of a revision that may be any state in which a group rests."""
        others = {states.Group.PLANNING, states.Group.RELEASING}

        self.assertEqual({*states.Group} - others, {*notifications._DECISIONS})
