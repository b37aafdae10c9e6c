# SPDX-License-Identifier: Apache-2.0
"""Tests of generations and client tokens."""

from tempest.lib import decorators
from tempest.lib import exceptions as lib_exc
from tempest.lib.common.utils import data_utils

from nova_groupext_tempest_plugin.common import topologies
from nova_groupext_tempest_plugin.common import waiters
from nova_groupext_tempest_plugin.tests import base


class GenerationTest(base.BaseGroupTest):
    @decorators.attr(type='smoke')
    @decorators.idempotent_id('b8d7f2a1-95c3-4e06-8a40-6f1e2d3c4301')
    def test_update_with_an_old_generation_is_a_conflict(self):
        group = self.describe(topologies.equal_members(1), hold=False)
        first, second = (
            topologies.equal_members(2),
            topologies.equal_members(3),
        )
        old = group['generation']

        self.groups.update_group(group['id'], generation=old, topology=first)
        waiters.wait_for_decision(self.groups, group['id'])
        self.assertRaises(
            lib_exc.Conflict,
            self.groups.update_group,
            group['id'],
            generation=old,
            topology=second,
        )

        now = self.group(group['id'])
        self.assertEqual(first, now['topology'])
        self.assertGreater(now['generation'], old)

    @decorators.idempotent_id('b8d7f2a1-95c3-4e06-8a40-6f1e2d3c4302')
    def test_update_with_a_future_generation_is_a_conflict(self):
        group = self.describe(topologies.equal_members(1), hold=False)

        self.assertRaises(
            lib_exc.Conflict,
            self.groups.update_group,
            group['id'],
            generation=group['generation'] + 1,
            topology=topologies.equal_members(2),
        )

        self.assertEqual(group, self.group(group['id']))

    @decorators.idempotent_id('b8d7f2a1-95c3-4e06-8a40-6f1e2d3c4306')
    def test_actions_with_an_old_generation_are_conflicts(self):
        group = self.hold(topologies.equal_members(2))
        old = group['generation']
        self.groups.update_group(group['id'], generation=old, name='other')
        renamed = self.group(group['id'])

        for action in ('hold', 'release', 'replan', 'extend', 'propose'):
            self.assertRaises(
                lib_exc.Conflict,
                self.groups.act,
                group['id'],
                action,
                generation=old,
            )
        self.assertRaises(
            lib_exc.Conflict,
            self.groups.add_member,
            group['id'],
            path='a',
            count=1,
            generation=old,
        )
        self.assertRaises(
            lib_exc.Conflict,
            self.groups.remove_member,
            group['id'],
            'a-1',
            generation=old,
        )
        self.assertRaises(
            lib_exc.Conflict,
            self.groups.delete_group,
            group['id'],
            generation=old,
        )

        self.assertEqual(renamed, self.group(group['id']))


class ClientTokenTest(base.BaseGroupTest):
    credentials = ['primary', 'alt']

    def setUp(self):
        super().setUp()
        self.request = {
            'name': data_utils.rand_name(type(self).__name__),
            'topology': topologies.equal_members(1),
            'hold': False,
            'client_token': data_utils.rand_uuid(),
        }

    @decorators.attr(type='smoke')
    @decorators.idempotent_id('b8d7f2a1-95c3-4e06-8a40-6f1e2d3c4303')
    def test_request_with_the_same_token_makes_no_second_group(self):
        group = self.describe(**self.request)

        again = self.groups.create_group(**self.request)['vrt_group']

        self.assertEqual(group, again)
        listed = self.groups.list_groups(name=group['name'])['vrt_groups']
        self.assertEqual([group['id']], [each['id'] for each in listed])

    @decorators.idempotent_id('b8d7f2a1-95c3-4e06-8a40-6f1e2d3c4304')
    def test_other_request_with_the_same_token_is_a_conflict(self):
        group = self.describe(**self.request)

        self.assertRaises(
            lib_exc.Conflict,
            self.groups.create_group,
            **{**self.request, 'topology': topologies.equal_members(2)},
        )

        self.assertEqual(group, self.group(group['id']))

    @decorators.idempotent_id('b8d7f2a1-95c3-4e06-8a40-6f1e2d3c4305')
    def test_token_of_another_project_makes_a_group_of_its_own(self):
        group = self.describe(**self.request)

        other = self.describe(client=self.other_groups, **self.request)

        self.assertNotEqual(group['id'], other['id'])
        self.assertNotEqual(group['project_id'], other['project_id'])
