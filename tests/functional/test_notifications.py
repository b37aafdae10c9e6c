# SPDX-License-Identifier: Apache-2.0
"""Notifications: one for each change, equal to the documented sample."""

import dataclasses
import datetime
import json
import pathlib
import re
from unittest import mock

import fixtures
from nova import rpc
from oslo_messaging.notify import _impl_test
from oslo_serialization import jsonutils
from oslo_utils import timeutils

from nova_groupext import notifications
from nova_groupext.cloud import hosts
from nova_groupext.db import api as db
from nova_groupext.db import models
from nova_groupext.objects import revisions
from nova_groupext.scheduler.decide import decide
from nova_groupext.scheduler.follow import hold_changes
from nova_groupext.scheduler.reap import reaper
from tests.functional import base

SAMPLES = pathlib.Path(__file__).parents[2] / 'doc' / 'notification_samples'

Event = notifications.Event

# Keys whose values differ between groups.
CHANGING = ('uuid', 'group_uuid', 'server_uuid', 'expires_at')

REQUEST = re.compile(r'req-[-0-9a-f]{36}')
A_REQUEST = 'req-8a1c5d52-3c07-4d5f-9a26-1a3f0c5be6e4'

ON = """
[notifications]
notification_format = versioned

[oslo_messaging_notifications]
driver = test
"""


class NotifiedTestCase(base.StepTestCase):
    PARTS = dataclasses.replace(
        base.WITHOUT_REAPER, config=f'{base.WITHOUT_REAPER.config}{ON}'
    )
    HOSTS = (hosts.Host('cmp-1', 'r1', 'az1', vcpus=4),)

    def setUp(self):
        super().setUp()
        _impl_test.reset()

    def told(self):
        """Return the notifications about groups and members, in order."""
        messages = [
            message for _c, message, _p, _r in _impl_test.NOTIFICATIONS
        ]
        return [m for m in messages if m['event_type'].startswith('vrt_')]

    def tells(self, *events):
        """Expect these notifications since the last call, each once.

        A notification may arrive later than the change of the group.
        """
        told = self.eventually(
            self.told, lambda so_far: len(so_far) >= len(events)
        )
        self.assertEqual([*events], [each['event_type'] for each in told])
        _impl_test.reset()
        for message in told:
            self.check(message)
        return told

    def check(self, message):
        """Compare a notification with its sample."""
        name = message['event_type'].replace('.', '-')
        sample = json.loads((SAMPLES / f'{name}.json').read_text())
        told = json.loads(REQUEST.sub(A_REQUEST, jsonutils.dumps(message)))
        wanted = sample['payload']['nova_object.data']
        given = told['payload']['nova_object.data']
        for key in CHANGING:
            if wanted.get(key) and given.get(key):
                self.assertEqual(len(wanted[key]), len(given[key]))
                given[key] = wanted[key]
        self.assertEqual(sample, {key: told[key] for key in sample})


class TestNotifications(NotifiedTestCase):
    def describe_web(self, **group):
        return self.describe(
            {'members': {'web': base.member(count=2)}}, name='shop', **group
        )['id']

    def put(self, uuid, **values):
        """PUT a group."""
        values['generation'] = self.group(uuid)['generation']
        path = f'{base.GROUPS}/{uuid}'
        response = self.api().put(path, json={'vrt_group': values})
        self.assertEqual(202, response.status_code, response.text)

    def test_plan_and_later_hold_are_notified(self):
        uuid = self.describe_web(hold=False)
        self.tells(Event.PLAN)

        self.act(uuid, 'hold')

        [held] = self.tells(Event.HOLD)
        self.assertEqual(uuid, held['payload']['nova_object.data']['uuid'])

    def test_refusal_is_notified(self):
        self.describe(
            {'members': {'web': base.member('m1.xlarge')}}, name='shop'
        )

        self.tells(Event.REFUSE)

    def test_planning_error_is_notified(self):
        self.useFixture(
            fixtures.MockPatchObject(
                decide, 'decide', side_effect=ValueError('a mistake')
            )
        )
        self.describe_web()

        self.tells(Event.PLAN_ERROR)

    def test_redeem_is_notified(self):
        uuid = self.describe_web()
        self.tells(Event.HOLD)

        server = self.redeem(uuid, 'web-1', 'm1.tiny')

        [told] = self.tells(Event.REDEEM)
        self.assertEqual(
            (uuid, server.id),
            (
                told['payload']['nova_object.data']['group_uuid'],
                told['payload']['nova_object.data']['server_uuid'],
            ),
        )

    def test_release_is_notified_once(self):
        uuid = self.describe_web()
        self.tells(Event.HOLD)

        self.act(uuid, 'release')
        self.tells(Event.RELEASE)
        self.act(uuid, 'release')
        self.delete_group(uuid)

        self.tells()

    def test_deletion_is_notified_as_a_release(self):
        uuid = self.describe_web()
        self.tells(Event.HOLD)

        self.delete_group(uuid)

        [told] = self.told()
        self.assertEqual(
            (Event.RELEASE, 'RELEASING'),
            (
                told['event_type'],
                told['payload']['nova_object.data']['status'],
            ),
        )

    def test_extension_is_notified(self):
        uuid = self.describe_web()
        self.tells(Event.HOLD)

        self.act(uuid, 'extend', {'expires_in': 7200})

        self.tells(Event.EXTEND)
        self.put(uuid, expires_in=9000)
        self.tells(Event.EXTEND)

    def test_revision_is_notified_as_an_extension_if_it_extends(self):
        uuid = self.describe_web(expires_in=3600)
        self.tells(Event.HOLD)
        before = self.group(uuid)

        self.put(uuid, topology=before['topology'], expires_in=7200)

        _held, told = self.tells(Event.HOLD, Event.EXTEND)
        ends_at = told['payload']['nova_object.data']['expires_at']
        self.assertEqual(self.group(uuid)['expires_at'], ends_at)
        self.assertLess(before['expires_at'], ends_at)
        self.change_row(
            uuid, expires_at=timeutils.utcnow() + datetime.timedelta(hours=9)
        )
        self.act(uuid, 'replan')
        self.tells(Event.HOLD)

    def test_extension_by_a_revision_finished_after_an_error_is_notified(self):
        uuid = self.describe_web(expires_in=3600)
        self.tells(Event.HOLD)
        commit = revisions.commit

        def fail_once(*_args, **_kwargs):
            self.patch(revisions, 'commit', commit)
            raise ValueError

        self.patch(revisions, 'commit', fail_once)

        other = {'members': {'web': base.member('m1.small', count=2)}}
        self.put(uuid, topology=other, expires_in=7200)

        self.tells(Event.HOLD, Event.EXTEND)

    def test_expiry_is_notified_once(self):
        uuid = self.describe_web()
        self.tells(Event.HOLD)
        long_ago = timeutils.utcnow() - datetime.timedelta(hours=1)
        db.compare_and_set(
            self.context,
            models.Group,
            models.Group.uuid == uuid,
            expires_at=long_ago,
        )

        reaper.expire(self.context)
        reaper.expire(self.context)

        self.tells(Event.EXPIRE)

    def test_lost_hold_is_notified(self):
        uuid = self.describe_web()
        self.tells(Event.HOLD)
        self.redeem(uuid, 'web-1', 'm1.tiny')
        self.tells(Event.REDEEM)
        [hold, _redeemed] = self.holds_of(uuid)
        self.cloud.placement.delete(f'/allocations/{hold.uuid}')
        self.fill('cmp-1', VCPU=3)

        hold_changes.follow_holds(
            self.context, self.placement_client, self.leases
        )
        hold_changes.follow_holds(
            self.context, self.placement_client, self.leases
        )

        self.tells(Event.LOSE_HOLD)

    def test_hold_with_a_successor_is_not_notified_as_lost(self):
        uuid = self.describe_web()
        self.tells(Event.HOLD)
        [hold, _other] = self.holds_of(uuid)
        self.cloud.placement.delete(f'/allocations/{hold.uuid}')

        hold_changes.follow_holds(
            self.context, self.placement_client, self.leases
        )

        self.tells()

    def test_failing_notifier_does_not_undo_a_change(self):
        broken = mock.Mock()
        broken.prepare.side_effect = ValueError('the bus is down')
        self.useFixture(fixtures.MockPatchObject(rpc, 'NOTIFIER', broken))

        uuid = self.describe_web()

        self.assertEqual('HELD', self.group(uuid)['status'])
        self.eventually(lambda: broken.prepare.called, bool)
