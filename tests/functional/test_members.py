# SPDX-License-Identifier: Apache-2.0
"""Single members of a group: view, addition and removal."""

from urllib import parse

from tests.functional import base
from tests.functional import revising

TOPOLOGY = {
    'groups': {
        'g': {'members': {'a': base.member(), 'w': base.member(count=2)}}
    },
}


class TestMembers(revising.RevisingTestCase):
    def setUp(self):
        super().setUp()
        self.uuid = self.hold_group(TOPOLOGY)['id']
        self.members = f'{base.GROUPS}/{self.uuid}/members'

    def add(self, **member):
        return self.api().post(self.members, json={'member': member})

    def drop(self, path):
        return self.api().delete(f'{self.members}/{path}')

    def after(self, response):
        """Return {path: status} once a change has been decided."""
        self.assertEqual(202, response.status_code, response.text)
        group = self.eventually(self.group, revising.is_decided, self.uuid)
        self.assertIsNone(group['revision'], group['revision'])
        return self.member_statuses(group)

    def test_server_beyond_a_single_member_is_let_go(self):
        topology = {'members': {'w': base.member(count=2)}}
        self.uuid = self.hold_group(topology)['id']
        for path in ('w-0', 'w-1'):
            self.redeem(self.uuid, path, 'm1.tiny')
        self.put_and_wait(self.uuid, {'members': {'w': base.member()}})
        member = f'{base.GROUPS}/{self.uuid}/members/w-1'

        response = self.api().delete(member, params={'keep_server': True})

        self.assertEqual({'w': 'ACTIVE'}, self.after(response))

    def test_members_are_listed_as_in_the_group(self):
        listed = self.api().get(self.members).json()['members']
        one = self.api().get(f'{self.members}/g/w-1').json()['member']

        self.assertEqual(self.group(self.uuid)['members'], listed)
        self.assertEqual(listed[2], one)
        self.assertRefused(
            404, 'no member g/w-7', self.api().get(f'{self.members}/g/w-7')
        )

    def test_added_member_is_held(self):
        states = self.after(self.add(path='g/x', **base.member()))

        self.assertEqual('HELD', states['g/x'])
        self.assertEqual(4, len(states))

    def test_addition_to_a_counted_member_holds_more_members(self):
        states = self.after(self.add(path='g/w', count=2))

        self.assertEqual(
            {'g/a', 'g/w-0', 'g/w-1', 'g/w-2', 'g/w-3'}, set(states)
        )
        self.assertEqual({'HELD'}, set(states.values()))

    def test_only_the_last_counted_member_is_removed(self):
        self.assertRefused(
            409,
            'only the last of these members, g/w-1, can be removed; to give '
            'another one up, release it, or delete its server if it has one',
            self.drop('g/w-0'),
        )

        states = self.after(self.drop('g/w-1'))
        self.assertEqual({'g/a', 'g/w-0'}, set(states))
        self.assertEqual({'g/a'}, set(self.after(self.drop('g/w-0'))))
        self.eventually(lambda: sum(self.free().values()), lambda n: n == 7)

    def test_counted_member_before_one_with_a_server_is_removed(self):
        self.redeem(self.uuid, 'g/w-1', 'm1.tiny')

        states = self.after(self.drop('g/w-0'))

        self.assertEqual({'g/a': 'HELD', 'g/w-1': 'ACTIVE'}, states)

    def test_last_member_of_a_decimal_count_is_removed(self):
        counted = {'g': {'members': {'w': base.member(count=2.0)}}}
        self.uuid = self.hold_group({'groups': counted})['id']
        self.members = f'{base.GROUPS}/{self.uuid}/members'

        self.assertEqual({'g/w-0'}, set(self.after(self.drop('g/w-1'))))

    def test_all_counted_members_are_removed_by_their_name(self):
        self.assertEqual({'g/a'}, set(self.after(self.drop('g/w'))))

    def test_member_paths_with_any_characters_are_valid_in_urls(self):
        paths = ('ä b', '東京/web')
        for path in paths:
            *above, name = path.split('/')
            topology = {'members': {name: base.member(), 'x': base.member()}}
            for subgroup in above:
                topology = {'groups': {subgroup: topology}}
            self.uuid = self.hold_group(topology)['id']
            self.members = f'{base.GROUPS}/{self.uuid}/members'
            member = f'{self.members}/{parse.quote(path)}'

            self.assertEqual(
                path, self.api().get(member).json()['member']['path']
            )
            self.assertNotIn(path, self.after(self.api().delete(member)))
            self.assertRefused(
                404, f'no member {path}', self.api().delete(member)
            )
        self.assertRefused(
            404, 'not UTF-8', self.api().get(f'{self.members}/%FF')
        )

    def test_member_with_a_server_is_not_removed(self):
        self.redeem(self.uuid, 'g/a', 'm1.tiny')

        self.assertRefused(409, 'Member g/a is ACTIVE', self.drop('g/a'))

    def test_invalid_additions_and_removals_are_refused(self):
        for member, code, told in (
            ({'path': 'h/x', **base.member()}, 400, 'subgroup "h"'),
            ({'path': '/', **base.member()}, 400, 'subgroup ""'),
            ({'path': 'g/', **base.member()}, 400, 'needs a name'),
            ({'path': 'g/..', **base.member()}, 400, 'needs a name'),
            (
                {'path': 'g/a', **base.member()},
                400,
                'names an existing member',
            ),
            ({'path': 'x', 'flavor': 'none'}, 400, 'members.x'),
            ({'path': 'g/w', 'flavor': 'm1.tiny'}, 400, 'a count'),
        ):
            self.assertRefused(code, told, self.add(**member))
        self.assertRefused(404, 'no member x', self.drop('x'))
        self.after(self.drop('g/w'))
        self.assertRefused(400, 'no member', self.drop('g/a'))
