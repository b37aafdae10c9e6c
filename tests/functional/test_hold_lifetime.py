# SPDX-License-Identifier: Apache-2.0
"""Is anything held without a server for longer than the operator lets it?"""

from nova_groupext import objects
from nova_groupext.db import api as db
from nova_groupext.db import clock
from nova_groupext.db import models
from nova_groupext.scheduler.reap import reaper
from tests.functional import base
from tests.functional import world

LIFETIME = 7 * 86400
HOUR = 3600


class TestHoldLifetime(world.WorldCase):
    def setUp(self):
        super().setUp()
        self.hold(2)

    def age(self, seconds, path=None):
        """Let so many seconds pass for members, or for one of them."""
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

    def test_a_member_that_is_held_for_too_long_is_released(self):
        self.age(LIFETIME - HOUR)
        self.assertEqual({'a-0': 'HELD', 'a-1': 'HELD'}, self.statuses())
        self.age(LIFETIME + HOUR, 'a-0')

        self.assertEqual({'a-0': 'RELEASED', 'a-1': 'HELD'}, self.statuses())

        [released, _other] = self.members()
        self.assertIn(
            'as long as the operator lets', released['fault']['message']
        )
        self.assertIn('as long as', self.refusal(self.uuid, 'a-0'))
        self.assertEqual('ACTIVE', self.attempt(self.uuid, 'a-1'))

    def test_replanning_and_revising_do_not_set_it_back(self):
        self.age(LIFETIME - HOUR)
        self.act(self.uuid, 'replan')
        topology = self.revised()['topology']
        topology['policies'] = [{'type': 'anti-affinity', 'scope': 'host'}]
        generation = self.group(self.uuid)['generation']
        self.api().put(
            f'{base.GROUPS}/{self.uuid}',
            json={
                'vrt_group': {'generation': generation, 'topology': topology}
            },
        )
        self.assertEqual(topology, self.revised()['topology'])

        self.assert_held_for_another(HOUR)

    def test_members_of_other_names_do_not_set_it_back(self):
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
        self.assertEqual(topology, self.revised()['topology'])

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
        self.assertEqual([0, LIFETIME // HOUR - 1, LIFETIME // HOUR - 1], ages)

    def revised(self):
        """Return the group once it is what it was to become."""
        return self.eventually(
            self.group, lambda now: now['revision'] is None, self.uuid
        )

    def test_what_is_held_again_counts_on(self):
        self.age(LIFETIME - HOUR)
        for hold in self.holds_of(self.uuid):
            self.cloud.placement.delete(f'/allocations/{hold.uuid}')
        before = self.held_now()
        self.planner.reap(self.context)
        self.assertNotEqual(before, self.held_now())

        self.assert_held_for_another(HOUR)

    def assert_held_for_another(self, seconds):
        group = objects.VRTGroup.get(self.context, self.uuid)
        most = objects.VRTMember.held_until(self.context, group.id, LIFETIME)
        left = (most - db.time(self.context)).total_seconds()
        self.assertLess(abs(left - seconds), 100)

    def test_a_group_is_extended_to_the_end_of_its_lifetime(self):
        self.age(LIFETIME - 2 * HOUR)

        first = self.act(self.uuid, 'extend', {'expires_in': 9 * HOUR})
        again = self.act(self.uuid, 'extend', {'expires_in': 9 * HOUR})

        self.assertEqual(202, first.status_code, first.text)
        self.assertEqual(409, again.status_code, again.text)
        self.assertIn('holds for at most 604800 seconds', again.text)
        group = objects.VRTGroup.get(self.context, self.uuid)
        left = (group.expires_at - db.time(self.context)).total_seconds()
        self.assertLess(abs(left - 2 * HOUR), 100)

    def test_who_has_been_a_server_begins_anew(self):
        self.age(LIFETIME - HOUR)
        self.override('rehold_after_server_end', True)
        self.bury(self.uuid, 'a-0')
        self.planner.reap(self.context)

        self.assertEqual({'a-0': 'HELD', 'a-1': 'HELD'}, self.statuses())

        self.age(LIFETIME + HOUR, 'a-1')
        self.assertEqual({'a-0': 'HELD', 'a-1': 'RELEASED'}, self.statuses())
        self.assert_held_for_another(LIFETIME)
