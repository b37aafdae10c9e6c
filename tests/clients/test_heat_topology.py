# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext_client/heat/topology.py``."""

from oslotest import base

from nova_groupext_client.heat import topology

SMALL = {'flavor': 'm1.small', 'image': 'an image'}


def units(name, max_size=None, batch=1):
    return topology.Units((name,), max_size, batch)


def server(path, units=None, **description):
    described = {**SMALL, **description}
    return topology.Server((path,), path, described, units)


class TestBuild(base.BaseTestCase):
    def build(self, *servers, **properties):
        return topology.build(servers, **properties)

    def test_single_server_is_a_member_that_may_be_replaced(self):
        built = self.build(server('db'))

        self.assertEqual({'db': {**SMALL, 'max_surge': 1}}, built['members'])

    def test_numbered_units_are_a_counted_member(self):
        webs = units('webs', batch=3)
        built = self.build(*(server(f'web-{n}', webs) for n in (0, 1, 7)))

        self.assertEqual(
            {'web': {**SMALL, 'count': 3, 'max_surge': 3}}, built['members']
        )

    def test_empty_group_of_scaled_units_is_a_member_that_may_grow(self):
        scaled = units('workers', max_size=2)
        future = topology.Server(('w',), 'worker', SMALL, scaled, True)

        built = self.build(server('db'), future)

        self.assertEqual(
            {**SMALL, 'count': 0, 'max_count': 2, 'max_surge': 2},
            built['members']['worker'],
        )

    def test_single_server_with_a_number_keeps_its_name(self):
        self.assertEqual(['db-1'], [*self.build(server('db-1'))['members']])

    def test_scaled_units_may_grow_and_have_two_batches_more(self):
        scaled = units('workers', max_size=9, batch=2)
        built = self.build(*(server('worker', scaled) for _each in range(3)))

        self.assertEqual(
            {
                'worker': {
                    **SMALL,
                    'count': 3,
                    'max_count': 9,
                    'max_surge': 4,
                }
            },
            built['members'],
        )

    def test_batches_larger_than_the_group_add_no_surge(self):
        scaled = units('workers', max_size=3, batch=8)
        built = self.build(server('worker', scaled))

        self.assertEqual(3, built['members']['worker']['max_surge'])

    def test_units_of_several_groups_of_resources_are_added(self):
        few, more = units('few', max_size=2), units('more', max_size=5)
        built = self.build(server('w', few), server('w', more), server('w'))

        self.assertEqual(
            {**SMALL, 'count': 3, 'max_count': 8, 'max_surge': 5},
            built['members']['w'],
        )

    def test_paths_lead_into_subgroups_that_need_not_be_described(self):
        apart = {'type': 'anti-affinity', 'scope': 'host'}
        built = self.build(
            server('a/b/db'),
            server('web/web'),
            groups={'web': {'policies': [apart]}},
        )

        groups = built['groups']
        self.assertEqual(['db'], [*groups['a']['groups']['b']['members']])
        self.assertEqual([apart], groups['web']['policies'])
        self.assertEqual(['web'], [*groups['web']['members']])

    def test_property_members_tells_what_servers_cannot(self):
        told = {'g/w': {'min_count': 1, 'max_surge': 7}}
        webs = units('webs')
        built = self.build(
            server('g/w-0', webs), server('g/w-1', webs), members=told
        )

        self.assertEqual(
            {**SMALL, 'count': 2, 'min_count': 1, 'max_surge': 7},
            built['groups']['g']['members']['w'],
        )

    def test_numbers_of_members_may_be_texts_or_missing(self):
        told = {'w': {'min_count': None, 'max_surge': '2'}}

        built = self.build(server('w'), members=told)

        self.assertEqual({**SMALL, 'max_surge': 2}, built['members']['w'])
        self.assertEqual({'min_count': None, 'max_surge': '2'}, told['w'])

    def test_successors_that_exist_are_beside_the_surge(self):
        webs = units('webs', batch=1)
        servers = [server('g/w-0', webs), server('g/w-1', webs), server('d-1')]

        built = self.build(*servers, successors=['g/w-1', 'g/w-0', 'd-1'])

        found = built['groups']['g']['members']['w'], built['members']['d-1']
        self.assertEqual([4, 2], [each['max_surge'] for each in found])

    def refusal(self, *servers, **properties):
        return str(
            self.assertRaises(
                topology.Mismatch, self.build, *servers, **properties
            )
        )

    def test_members_that_no_server_is_are_refused(self):
        text = self.refusal(server('a'), members={'b': {'min_count': 1}})

        self.assertIn('no server is b', text)

    def test_members_with_what_servers_tell_or_no_numbers_are_refused(self):
        for told, word in (
            ({'count': 2}, 'count is none of'),
            (3, 'a map'),
            ({'max_surge': 'few'}, 'max_surge must be a whole number'),
            ({'max_surge': -1}, 'max_surge must be a whole number'),
            ({'min_count': True}, 'min_count must be a whole number'),
        ):
            with self.subTest(told):
                text = self.refusal(server('a'), members={'a': told})

                self.assertIn('members.a', text)
                self.assertIn(word, text)

    def test_subgroups_with_members_or_wrong_types_are_refused(self):
        for inner, word in (
            ({'members': {}}, '"members"'),
            (None, 'a map'),
            ({'policies': 3}, 'policies must be a list'),
            ({'relationships': {}}, 'relationships must be a list'),
            ({'groups': ['x']}, 'groups must be a map'),
        ):
            with self.subTest(inner):
                groups = {'g': {'groups': {'h': inner}}}

                text = self.refusal(server('a'), groups=groups)

                self.assertIn('groups.g.groups.h', text)
                self.assertIn(word, text)

    def test_servers_of_a_set_with_other_flavors_are_refused(self):
        text = self.refusal(server('w'), server('w', flavor='m1.large'))

        self.assertIn('flavor', text)

    def test_units_that_name_the_same_member_are_refused(self):
        """Two stacks, each with a group of resources that counts from 0."""
        first, second = units('one'), units('two')
        text = self.refusal(
            topology.Server(('one', '0'), 'web-0', SMALL, first),
            topology.Server(('two', '0'), 'web-0', SMALL, second),
        )

        self.assertEqual('one.0 and two.0 are both web-0', text)
