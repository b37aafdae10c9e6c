# SPDX-License-Identifier: Apache-2.0
"""Revisions of groups that grow, shrink, and change what they describe."""

import threading

import fixtures
from oslo_utils import timeutils

from tests.functional import base
from tests.functional import growing


class TestRevising(growing.GrowingCase):
    def test_grown_members_stay(self):
        self.hold_workers(1, 3)
        self.grow(), self.grow('w-5')

        self.put(2, max_count=4)

        self.assertEqual({'w-0': 'ACTIVE', 'w-5': 'ACTIVE'}, self.statuses())
        self.put(3, max_count=4)
        self.assertEqual(
            {'w-0': 'ACTIVE', 'w-1': 'HELD', 'w-5': 'ACTIVE'}, self.statuses()
        )
        self.assert_sound()

    def test_group_without_held_members_is_revised_after_its_expiry(self):
        self.hold_workers(0, 3)
        self.change_row(self.uuid, expires_at=timeutils.utcnow())

        self.put(1, max_count=3)

        self.assertEqual({'w-0': 'HELD'}, self.statuses())
        self.assert_sound()

    def test_expired_group_is_revised_while_a_server_has_a_place(self):
        self.hold_workers(1, 3)
        self.grow()
        self.change_row(self.uuid, expires_at=timeutils.utcnow())

        server = self.grow_around(lambda: self.put(1, max_count=4))

        self.assertEqual('ACTIVE', server.status, vars(server))
        self.assertEqual({'w-0': 'ACTIVE', 'w-1': 'ACTIVE'}, self.statuses())
        self.assert_sound()

    def test_generation_counts_definitions_and_no_creates(self):
        self.hold_workers(1, 3)
        before = self.group(self.uuid)['generation']
        self.grow(), self.grow()

        self.assertEqual(before, self.group(self.uuid)['generation'])
        self.put(1, max_count=3)
        self.assertEqual(before, self.group(self.uuid)['generation'])
        self.put(2, max_count=3)
        self.assertEqual(before + 1, self.group(self.uuid)['generation'])

    def test_servers_beyond_a_smaller_count_leave(self):
        self.hold_workers(3, 3)
        servers = [self.grow() for _number in range(3)]

        self.put(1)

        self.assertEqual(
            {'w-0': 'ACTIVE', 'w-1': 'LEAVING', 'w-2': 'LEAVING'},
            self.statuses(),
        )
        self.delete(servers[0])
        self.eventually(
            self.reaped_statuses,
            lambda now: now == {'w-1': 'ACTIVE', 'w-2': 'LEAVING'},
        )
        self.put(2)
        self.assertEqual({'w-1': 'ACTIVE', 'w-2': 'ACTIVE'}, self.statuses())
        self.assert_sound()

    def test_servers_of_a_member_that_is_left_out_leave(self):
        self.hold_workers(2, 2)
        server = self.grow()

        self.put_topology(
            {'groups': {'sub': {'members': {'v': base.member(count=1)}}}}
        )

        self.assertEqual(
            {'w-0': 'LEAVING', 'sub/v-0': 'HELD'}, self.statuses()
        )
        self.assertNotIn('members', self.group(self.uuid)['topology'])
        self.assert_refused(403)
        self.assert_sound()
        self.delete(server)
        self.eventually(
            self.reaped_statuses, lambda now: now == {'sub/v-0': 'HELD'}
        )
        self.assertEqual('ACTIVE', self.grow('sub').status)

    def test_name_of_a_server_is_given_to_nothing_else_before_it_goes(self):
        """A member becomes a subgroup, and a subgroup a member."""
        one = base.member()
        single = {'members': {'x': one, 'v': one}}
        nested = {
            'members': {'v': one},
            'groups': {'x': {'members': {'y': one}}},
        }
        counted = {
            'members': {'v': one, 'x': base.member(count=2)},
        }
        for before, path, after in (
            (single, 'x', nested),
            (nested, 'x/y', single),
            (nested, 'x/y', counted),
        ):
            self.uuid = self.hold_group(before)['id']
            server = self.redeem(self.uuid, path, 'm1.tiny')

            response = self.put_group(after)

            self.assertEqual(409, response.status_code, response.text)
            self.assertIn(f'Member {path} is left out', response.text)
            self.delete(server)
            self.reaped_statuses()
            self.put_topology(after)
            self.assertEqual({'HELD'}, {*self.statuses().values()})
            self.assert_sound()
            self.delete_group(self.uuid)

    def test_index_of_a_server_is_no_subgroup_before_it_goes(self):
        self.hold_workers(2, 2)
        self.grow('w-1')
        other = {'members': {'y': base.member()}}
        response = self.put_group({'groups': {'w-1': other}})
        self.assertEqual(409, response.status_code, response.text)

    def test_name_of_a_successor_is_given_to_nothing_else_before_it_goes(self):
        one = base.member(count=1, max_surge=1)
        other = base.member()
        self.uuid = self.hold_group({'members': {'w': one}})['id']
        first = self.grow()
        successor = self.grow('w-9')
        for topology in (
            {'members': {'w': one, 'w-9': other}},
            {
                'members': {'w': one},
                'groups': {'w-9': {'members': {'y': other}}},
            },
        ):
            response = self.put_group(topology)

            self.assertEqual(409, response.status_code, response.text)
            self.assertIn('Member w-9 is left out', response.text)

        self.delete(first)
        self.assertEqual({'w-9': 'ACTIVE'}, self.reaped_statuses())
        self.delete(successor)
        self.assertEqual({'w-9': 'TENTATIVE'}, self.reaped_statuses())
        response = self.put_group({'members': {'w': one, 'w-9': other}})
        self.assertEqual(202, response.status_code, response.text)
        self.assert_sound()

    def test_path_of_a_subgroup_left_out_is_beyond_the_limit(self):
        workers = {'members': {'w': base.member(count=1)}}
        members = {'x': base.member()}
        topology = {'members': members, 'groups': {'sub': workers}}
        self.uuid = self.hold_group(topology)['id']
        self.grow('sub')
        self.put_topology({'members': members})

        self.assert_refused(403, 'sub')

    def test_held_members_become_a_single_one(self):
        self.uuid = self.hold_group({'members': {'w': base.member(count=2)}})[
            'id'
        ]

        self.put_topology({'members': {'w': base.member()}})

        self.assertEqual({'w': 'HELD'}, self.statuses())
        self.assert_refused(404, 'w-0')
        self.assertEqual('ACTIVE', self.grow('w').status)
        self.assert_sound()

    def test_servers_stay_members_when_their_subgroup_is_defined_again(self):
        workers = {'w': base.member(count=2)}
        topology = {'groups': {'sub': {'members': workers}}}
        self.uuid = self.hold_group(topology)['id']
        self.grow('sub')
        others = {'members': {'v': base.member()}}

        self.put_topology(others)
        self.assertEqual({'v': 'HELD', 'sub/w-0': 'LEAVING'}, self.statuses())
        self.put_topology(topology)

        self.assertEqual(
            {'sub/w-0': 'ACTIVE', 'sub/w-1': 'HELD'}, self.statuses()
        )
        self.assert_sound()

    def test_single_member_becomes_a_counted_one_and_back(self):
        self.hold_workers(None, None)
        self.grow()

        self.put(2)
        self.assertEqual({'w-0': 'ACTIVE', 'w-1': 'HELD'}, self.statuses())
        self.put_topology({'members': {'w': base.member()}})

        self.assertEqual({'w': 'ACTIVE'}, self.statuses())
        self.assert_sound()

    def test_what_grew_is_shown_as_grown(self):
        self.hold_workers(1, 3)
        self.grow(), self.grow()

        self.assertEqual(
            [('w-0', False), ('w-1', True)],
            [(each['path'], each['grown']) for each in self.members()],
        )

    def test_member_that_is_removed_takes_no_other_server_along(self):
        self.uuid = self.hold_group(
            {
                'members': {
                    'db': base.member(),
                    'w': base.member(count=1, max_count=4),
                }
            }
        )['id']
        self.grow('db')
        servers = [self.grow() for _number in range(3)]
        expected = {f'w-{n}': each.id for n, each in enumerate(servers)}

        self.let_go('db')

        self.assertEqual(expected, self.servers())
        for path in ('w-0', 'w-1'):
            self.let_go(path)
            del expected[path]
            self.assertEqual(expected, self.servers())

    def test_leaving_server_that_is_let_go_takes_no_other_along(self):
        self.hold_workers(3, None)
        servers = [self.grow() for _number in range(3)]
        self.put(2)

        self.let_go('w-2')

        self.assertEqual({'w-0': 'ACTIVE', 'w-1': 'ACTIVE'}, self.statuses())
        self.put(1)
        self.let_go('w-0')
        self.assertEqual({'w-1': servers[1].id}, self.servers())
        self.assertEqual({'w-1': 'ACTIVE'}, self.statuses())

    def test_successor_takes_the_place_of_a_server_that_is_let_go(self):
        for hint in ('w-0', 'w'):
            self.hold_workers(2, None, max_surge=1)
            first, second = self.grow('w-0'), self.grow('w-1')
            successor = self.grow(hint)

            self.let_go('w-0')

            expected = {'w-0': successor.id, 'w-1': second.id}
            self.eventually(self.servers, lambda now, e=expected: now == e)
            self.assertEqual({'ACTIVE'}, {*self.statuses().values()})
            self.delete_servers(first, second, successor)
            self.delete_group(self.uuid)

    def test_servers_beyond_a_count_go_with_what_was_to_succeed_them(self):
        self.hold_workers(2, None, max_surge=1)
        for path in ('w-0', 'w-1', 'w-1'):
            self.grow(path)

        worker = base.member(count=1, max_surge=1)
        self.put_topology({'members': {'w': worker}}, keep_server=True)

        self.assertEqual({'w-0': 'ACTIVE'}, self.reaped_statuses())
        self.assert_sound()

    def test_other_leaving_servers_stay_when_one_is_let_go(self):
        self.hold_workers(3, None)
        for _number in range(3):
            self.grow()
        self.put(1)

        self.let_go('w-2')

        self.assertEqual({'w-0': 'ACTIVE', 'w-1': 'LEAVING'}, self.statuses())

    def test_servers_of_a_set_left_out_are_let_go_one_by_one(self):
        self.hold_workers(2, None)
        for _number in range(2):
            self.grow()
        single = base.member()
        self.put_topology({'members': {'u': single, 'v': single}})

        self.let_go('w-1')

        self.assertEqual(
            {'u': 'HELD', 'v': 'HELD', 'w-0': 'LEAVING'}, self.statuses()
        )
        self.let_go('v')
        self.assertEqual({'u': 'HELD', 'w-0': 'LEAVING'}, self.statuses())

    def test_grown_server_that_is_let_go_leaves_the_count(self):
        self.hold_workers(2, 4)
        for _number in range(3):
            self.grow()

        self.let_go('w-1')

        self.assertEqual(
            [('w-0', False), ('w-2', False)],
            [(each['path'], each['grown']) for each in self.members()],
        )
        described = self.group(self.uuid)['topology']['members']['w']
        self.assertEqual(2, described['count'])

    def test_new_name_waits_for_growth(self):
        self.hold_workers(1, 2)
        self.grow()
        body = {
            'generation': self.group(self.uuid)['generation'],
            'name': 'other',
        }
        request = threading.Thread(target=self.rename, args=(body,))

        def start(point):
            if point == 'before hold.post' and request.ident is None:
                request.start()

        with fixtures.MonkeyPatch('nova_groupext.faultpoints.handler', start):
            self.assertEqual('ACTIVE', self.grow().status)
        request.join()

        self.assertEqual(202, self.response.status_code, self.response.text)
        self.assertEqual('other', self.group(self.uuid)['name'])

    def rename(self, body):
        self.response = self.api().put(
            f'{base.GROUPS}/{self.uuid}', json={'vrt_group': body}
        )

    def let_go(self, path):
        response = self.api().delete(
            f'{base.GROUPS}/{self.uuid}/members/{path}',
            params={'keep_server': 'true'},
        )
        self.assertEqual(202, response.status_code, response.text)
        self.eventually(
            self.group, lambda now: now['revision'] is None, self.uuid
        )

    def test_member_with_any_index_adopts_a_server(self):
        self.hold_workers(2, 2)
        first, second = self.grow('w-0'), self.grow('w-7')
        self.delete(second)
        self.eventually(
            self.reaped_statuses,
            lambda now: now == {'w-0': 'ACTIVE', 'w-7': 'TENTATIVE'},
        )
        adopted = self.boot('m1.tiny')

        self.act(self.uuid, 'adopt', {'servers': {'w-7': adopted.id}})

        self.eventually(
            self.servers,
            lambda now: now == {'w-0': first.id, 'w-7': adopted.id},
        )

    def test_group_without_servers_or_holds_is_revised(self):
        for count, expected in (
            (1, {'w-0': 'HELD', 'w-1': 'HELD'}),
            (0, {'w-0': 'HELD'}),
        ):
            self.hold_workers(count, 2)
            self.delete(self.grow())
            self.eventually(self.reaped_status, 'RELEASED'.__eq__)

            self.put(count + 1, max_count=3)

            self.eventually(self.reaped_status, 'HELD'.__eq__)
            self.assertEqual(expected, self.statuses())
            self.assert_sound()

    def reaped_status(self):
        self.reaped_statuses()
        return self.group(self.uuid)['status']

    def servers(self):
        return {each['path']: each['server_id'] for each in self.members()}
