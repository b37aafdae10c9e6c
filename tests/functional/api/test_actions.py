# SPDX-License-Identifier: Apache-2.0
"""The actions hold, extend and release, and DELETE, in all group states."""

from oslo_utils import timeutils

from nova_groupext.api import groups
from nova_groupext.cloud import hosts
from nova_groupext.db import models
from tests.functional import base

ALONE = {'members': {'a': base.member('m1.xlarge')}}
THREE = {'members': {'a': base.member(count=3)}}


class TestActions(base.GroupTestCase):
    HOSTS = (hosts.Host('cmp-1', vcpus=8),)

    def outcome(self, uuid, action, body=None, user='demo'):
        """Return the status and the message of an action."""
        response = self.act(uuid, action, body, user)
        if response.status_code == 202:
            self.assertEqual('', response.text)
            return 202, None
        [fault] = response.json().values()
        return response.status_code, fault['message']

    def assertRefused(self, code, reason, uuid, action, body=None):
        told = self.outcome(uuid, action, body)
        self.assertEqual(code, told[0], told)
        self.assertIn(reason, told[1])

    def states(self, uuid):
        members = self.group(uuid)['members']
        return {member['path']: member['status'] for member in members}

    def test_what_if_is_held_by_a_later_action(self):
        group = self.describe(THREE, hold=False)
        self.assertEqual('PLANNED', group['status'])
        self.assertEqual(8, self.free()['cmp-1'])

        self.assertEqual((202, None), self.outcome(group['id'], 'hold'))

        held = self.eventually(
            self.group, lambda now: now['status'] == 'HELD', group['id']
        )
        self.assertEqual(5, self.free()['cmp-1'])
        self.assertIsNotNone(held['expires_at'])

    def test_refused_group_is_held_once_there_is_capacity(self):
        other = self.hold_group(ALONE)
        group = self.describe(ALONE)
        self.assertEqual('REFUSED', group['status'])
        self.assertIsNotNone(group['refusal'])

        self.delete_group(other['id'])
        self.assertEqual((202, None), self.outcome(group['id'], 'hold'))

        held = self.eventually(
            self.group, lambda now: now['status'] == 'HELD', group['id']
        )
        self.assertIsNone(held['refusal'])

    def test_hold_of_a_held_group_is_a_conflict(self):
        group = self.hold_group(THREE)

        self.assertRefused(409, 'is HELD', group['id'], 'hold')

    def test_hold_keeps_the_generation(self):
        group = self.describe(THREE, hold=False)

        self.act(group['id'], 'hold')

        held = self.eventually(
            self.group, lambda now: now['status'] == 'HELD', group['id']
        )
        self.assertEqual(held['generation'], group['generation'])

    def test_named_members_are_released(self):
        group = self.hold_group(THREE)['id']

        released = self.outcome(group, 'release', {'members': ['a-1']})

        self.assertEqual((202, None), released)
        self.assertEqual(
            {'a-0': 'HELD', 'a-1': 'RELEASED', 'a-2': 'HELD'},
            self.states(group),
        )
        self.eventually(lambda: self.free()['cmp-1'], lambda free: free == 6)

    def test_second_release_of_a_member_succeeds(self):
        group = self.hold_group(THREE)['id']

        for _time in range(2):
            self.assertEqual(
                (202, None),
                self.outcome(group, 'release', {'members': ['a-1']}),
            )

    def test_release_without_members_releases_the_whole_group(self):
        for body in (None, {}, {'members': None}):
            group = self.hold_group(THREE)['id']

            self.assertEqual((202, None), self.outcome(group, 'release', body))

            self.assertEqual({'RELEASED'}, set(self.states(group).values()))
            self.assertEqual('RELEASED', self.group(group)['status'])
            self.eventually(
                lambda: self.free()['cmp-1'], lambda free: free == 8
            )

    def test_release_of_a_member_with_a_server_is_a_conflict(self):
        group = self.hold_group(THREE)['id']
        self.redeem(group, 'a-0', 'm1.tiny')

        self.assertRefused(
            409,
            'Member a-0 is ACTIVE',
            group,
            'release',
            {'members': ['a-1', 'a-0']},
        )
        self.assertEqual('HELD', self.states(group)['a-1'])
        self.assertEqual((202, None), self.outcome(group, 'release'))

        self.assertEqual(
            {'a-0': 'ACTIVE', 'a-1': 'RELEASED', 'a-2': 'RELEASED'},
            self.states(group),
        )
        self.assertEqual('ACTIVE', self.group(group)['status'])

    def test_release_of_an_unknown_member_is_not_found(self):
        group = self.hold_group(THREE)['id']

        for path in ('b', 'a', 'A-0', 'a-0 ', ''):
            self.assertRefused(
                404, 'has no member', group, 'release', {'members': [path]}
            )

    def test_extension_of_a_held_group_counts_from_now(self):
        group = self.hold_group(THREE, expires_in=60)['id']
        for body, seconds in (
            ({'expires_in': 3600}, 3600),
            ({}, 60),
            ({'expires_in': 86400.0}, 86400),
            (None, 60),
        ):
            asked_at = timeutils.utcnow(with_timezone=True)

            self.assertEqual((202, None), self.outcome(group, 'extend', body))

            ends_at = timeutils.parse_isotime(self.group(group)['expires_at'])
            left = (ends_at - asked_at).total_seconds()
            self.assertTrue(seconds - 1 <= left < seconds + 30, left)

    def test_extension_keeps_the_generation(self):
        group = self.hold_group(THREE)

        self.act(group['id'], 'extend')

        self.assertEqual(
            group['generation'], self.group(group['id'])['generation']
        )

    def test_extension_of_a_group_without_holds_is_a_conflict(self):
        whatif = self.describe(THREE, hold=False)['id']
        self.assertRefused(
            409, 'is PLANNED: it has no held members', whatif, 'extend'
        )
        released = self.hold_group(THREE)['id']
        self.act(released, 'release')
        self.assertRefused(
            409, 'is RELEASED: it has no held members', released, 'extend'
        )

    def test_bad_actions_are_refused(self):
        group = self.hold_group(THREE)['id']
        path = f'{base.GROUPS}/{group}/action'

        for body, reason in (
            ([], '$: must be a JSON object'),
            (None, '$: must be a JSON object'),
            ({}, '$: must contain exactly one action'),
            (
                {'hold': None, 'release': None},
                '$: must contain exactly one action',
            ),
            ({'fly': None}, '$.fly: is unknown'),
            ({'hold': 1}, '$.hold: must be'),
            ({'extend': 60}, '$.extend: must be'),
            (
                {'extend': {'expires_in': 0}},
                '$.extend.expires_in: must be at least 1',
            ),
            (
                {'extend': {'expires_in': 86401}},
                '$.extend.expires_in: must be at most 86400',
            ),
            ({'extend': {'expires_at': 1}}, '$.extend.expires_at: is unknown'),
            ({'hold': {'now': True}}, '$.hold.now: is unknown'),
            ({'release': []}, '$.release: must be'),
            ({'release': {'members': []}}, '$.release.members: must have'),
            ({'release': {'members': 'a-0'}}, '$.release.members: must be'),
            (
                {'release': {'members': [1]}},
                '$.release.members[0]: must be a JSON string',
            ),
            (
                {'release': {'members': ['a-0', 'a-0']}},
                '$.release.members: must not repeat an item',
            ),
        ):
            response = self.api().post(path, json=body)
            self.assertEqual(400, response.status_code, response.text)
            told = response.json()['badRequest']['message']
            self.assertEqual(reason, told[: len(reason)])
        self.assertEqual({'HELD'}, set(self.states(group).values()))

    def test_a_deleted_group_is_not_found(self):
        group = self.hold_group(THREE)['id']
        path = f'{base.GROUPS}/{group}'

        deleted = self.api().delete(path)

        self.assertEqual((202, ''), (deleted.status_code, deleted.text))
        self.assertEqual(404, self.api().get(path).status_code)
        self.assertEqual(404, self.api().delete(path).status_code)
        self.assertEqual(404, self.api('admin').get(path).status_code)
        self.assertRefused(404, 'could not be found', group, 'hold')
        listed = self.api().get(base.GROUPS).json()['vrt_groups']
        self.assertNotIn(group, [each['id'] for each in listed])
        self.eventually(lambda: self.free()['cmp-1'], lambda free: free == 8)

    def test_client_token_of_a_deleted_group_makes_no_second_answer(self):
        wanted = {'topology': THREE, 'hold': False, 'client_token': 'gone'}
        group = self.describe(**wanted)
        self.api().delete(f'{base.GROUPS}/{group["id"]}')

        # The group is either not purged yet, or described anew.
        again = self.post(**wanted)

        self.assertIn(again.status_code, (202, 409), again.text)
        if again.status_code == 202:
            self.assertNotEqual(group['id'], again.json()['vrt_group']['id'])

    def test_server_outlives_its_deleted_group(self):
        group = self.hold_group(THREE)['id']
        server = self.redeem(group, 'a-0', 'm1.tiny')

        self.delete_group(group)

        self.assertEqual('ACTIVE', server.manager.get(server).status)
        self.assertEqual(7, self.free()['cmp-1'])

    def test_group_that_changes_concurrently_is_deleted(self):
        uuid = self.hold_group(THREE)['id']
        find = groups.get_authorised

        def find_and_change(*args):
            found = find(*args)
            self.change_row(uuid, generation=models.Group.generation + 1)
            return found

        self.patch(groups, 'get_authorised', find_and_change)

        deleted = self.api().delete(f'{base.GROUPS}/{uuid}')

        self.assertEqual(202, deleted.status_code, deleted.text)
        self.eventually(self.free, lambda free: free == {'cmp-1': 8})
