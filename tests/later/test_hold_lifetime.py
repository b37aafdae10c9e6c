# SPDX-License-Identifier: Apache-2.0
"""The operator's limit of the time that a member is held without a server."""

from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.scheduler.reap import reaper
from tests.functional import base
from tests.functional import changing_cloud

LIFETIME = 7 * 86400
HOUR = 3600


class TestHoldLifetime(changing_cloud.ChangingCloudTestCase):
    def setUp(self):
        super().setUp()
        self.hold(2)

    def age(self, seconds, path=None):
        """Set ``held_since`` of members, or of one of them, back in time."""
        group = objects.VRTGroup.get(self.context, self.uuid)
        for member in group.members:
            if path in (None, member.path):
                self._age(member.id, seconds)

    def _age(self, member_id, seconds):
        mine = models.Member.id == member_id
        since = db.find_one(self.context, models.Member, mine).held_since
        self.assertIsNotNone(since)
        db.compare_and_set(
            self.context, models.Member, mine, held_since=clock.now(-seconds)
        )

    def statuses(self):
        reaper.expire(self.context)
        return {each['path']: each['status'] for each in self.members()}

    def test_member_held_beyond_the_lifetime_is_released(self):
        self.age(LIFETIME - HOUR)
        self.assertEqual({'a-0': 'HELD', 'a-1': 'HELD'}, self.statuses())
        self.age(LIFETIME + HOUR, 'a-0')

        self.assertEqual({'a-0': 'TENTATIVE', 'a-1': 'HELD'}, self.statuses())

        [released, _other] = self.members()
        self.assertIn(
            'for the maximum time that the operator allows',
            released['fault']['message'],
        )
        for path in ('a-0', 'a-1'):
            self.assertEqual('ACTIVE', self.try_redeem(self.uuid, path))

    def test_replan_and_revision_do_not_reset_the_lifetime(self):
        self.age(LIFETIME - HOUR)
        self.act(self.uuid, 'replan')
        topology = self.put_revision()['topology']
        topology['policies'] = [{'type': 'anti-affinity', 'scope': 'host'}]
        generation = self.group(self.uuid)['generation']
        self.api().put(
            f'{base.GROUPS}/{self.uuid}',
            json={
                'vrt_group': {'generation': generation, 'topology': topology}
            },
        )
        self.assertEqual(topology, self.put_revision()['topology'])

        self.assert_held_for_another(HOUR)

    def test_members_in_place_of_others_are_as_old(self):
        self.age(LIFETIME - HOUR)
        group = self.group(self.uuid)
        members = group['topology']['members']
        topology = {'members': {'b': {**members['a'], 'count': 3}}}
        self.api().put(
            f'{base.GROUPS}/{self.uuid}',
            json={
                'vrt_group': {
                    'generation': group['generation'],
                    'topology': topology,
                }
            },
        )
        self.assertEqual(topology, self.put_revision()['topology'])

        now = objects.VRTGroup.get(self.context, self.uuid)
        ages = sorted(
            round((db.time(self.context) - since).total_seconds() / HOUR)
            for (since,) in db.find_columns(
                self.context,
                [models.Member.held_since],
                models.Member,
                models.Member.group_id == now.id,
            )
        )
        self.assertEqual([LIFETIME // HOUR - 1] * 3, ages)

    def put_revision(self):
        """Return the group once its revision has been applied."""
        return self.eventually(
            self.group, lambda now: now['revision'] is None, self.uuid
        )

    def test_successor_hold_does_not_reset_the_lifetime(self):
        self.age(LIFETIME - HOUR)
        for hold in self.holds_of(self.uuid):
            self.cloud.placement.delete(f'/allocations/{hold.uuid}')
        before = self.hold_uuids()
        self.planner.reap(self.context)
        self.assertNotEqual(before, self.hold_uuids())

        self.assert_held_for_another(HOUR)

    def test_replan_of_a_lost_member_has_a_new_lifetime(self):
        self.age(LIFETIME - HOUR)
        self.disable(self.before['a-0'])
        self.planner.reap(self.context)
        [lost, _other] = self.members()
        self.assertEqual('FAILED', lost['status'])

        self.act(self.uuid, 'replan')

        self.eventually(self.members, lambda now: now[0]['status'] == 'HELD')
        self.assert_held_for_another(LIFETIME)

    def assert_held_for_another(self, seconds):
        group = objects.VRTGroup.get(self.context, self.uuid)
        most = objects.VRTMember.held_until(self.context, group.id, LIFETIME)
        left = (most - db.time(self.context)).total_seconds()
        self.assertLess(abs(left - seconds), 100)

    def test_extension_is_limited_by_the_lifetime(self):
        self.age(LIFETIME - 2 * HOUR)

        first = self.act(self.uuid, 'extend', {'expires_in': 9 * HOUR})
        again = self.act(self.uuid, 'extend', {'expires_in': 9 * HOUR})

        self.assertEqual(202, first.status_code, first.text)
        self.assertEqual(409, again.status_code, again.text)
        self.assertIn('holds a member for at most 604800 seconds', again.text)
        self.assert_expires_in(2 * HOUR, self.uuid)

    def test_lowered_maximum_limits_the_default_and_revisions(self):
        self.act(self.uuid, 'extend', {'expires_in': 60})
        self.set_option('max_expires_in', 600)

        self.act(self.uuid, 'replan')
        self.put_revision()
        new = self.hold_group({'members': {'a': base.member()}})['id']

        for uuid in (self.uuid, new):
            self.assert_expires_in(600, uuid)

    def test_lowered_maximum_limits_the_hold_of_a_what_if(self):
        uuid = self.describe({'members': {'a': base.member()}}, hold=False)[
            'id'
        ]
        self.set_option('max_expires_in', 600)

        self.act(uuid, 'hold')

        self.eventually(self.group, lambda now: now['status'] == 'HELD', uuid)
        self.assert_expires_in(600, uuid)

    def assert_expires_in(self, seconds, uuid):
        group = objects.VRTGroup.get(self.context, uuid)
        left = (group.expires_at - db.time(self.context)).total_seconds()
        self.assertLess(abs(left - seconds), 100)

    def test_hold_after_a_server_ended_has_a_new_lifetime(self):
        self.age(LIFETIME - HOUR)
        self.set_option('rehold_after_server_end', True)
        self.fail_build(self.uuid, 'a-0')
        self.planner.reap(self.context)

        self.assertEqual({'a-0': 'HELD', 'a-1': 'HELD'}, self.statuses())

        self.age(LIFETIME + HOUR, 'a-1')
        self.assertEqual({'a-0': 'HELD', 'a-1': 'TENTATIVE'}, self.statuses())
        self.assert_held_for_another(LIFETIME)
