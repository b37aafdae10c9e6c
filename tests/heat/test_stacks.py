# SPDX-License-Identifier: Apache-2.0
"""Creating, updating and deleting stacks with a group."""

from nova_groupext.conf import CONF
from tests.heat import base
from tests.heat import hot

APART = {'type': 'anti-affinity', 'scope': 'host'}
SHOP = {
    'group': hot.group(groups={'web': {'policies': [APART]}}),
    'db': hot.server('db'),
    'webs': hot.many(3, hot.server('web/web-%index%')),
}


class TestCreate(base.HeatTestCase):
    def test_servers_of_a_stack_are_placed_as_a_group(self):
        status = self.create_stack(SHOP)

        self.assertEqual('CREATE_COMPLETE', status[0], status)
        group = self.the_group()
        self.assertEqual('ACTIVE', group['status'])
        self.assertEqual(
            dict.fromkeys(
                ['db', 'web/web-0', 'web/web-1', 'web/web-2'], 'ACTIVE'
            ),
            self.statuses(),
        )
        hosts = self.planned_hosts(group['id'])
        self.assertEqual(
            3, len({host for path, host in hosts.items() if path != 'db'})
        )

    def test_group_is_held_before_the_first_server_is_created(self):
        """A refused group has no server."""
        apart = {'policies': [APART]}
        status, reason = self.create_stack(
            {
                'group': hot.group(groups={'web': apart}),
                'webs': hot.many(7, hot.server('web/web-%index%')),
            }
        )

        self.assertEqual('CREATE_FAILED', status)
        for text in ('anti-affinity', 'fits'):
            self.assertIn(text, reason[:255])
        self.assertIn('Changes that would help:', reason)
        self.assertEqual({}, self.servers())

    def test_refused_update_leaves_the_group_as_it_is(self):
        self.create_stack(SHOP)

        more = {
            **SHOP,
            'webs': hot.many(7, hot.server('web/web-%index%')),
        }
        status, reason = self.update_stack(more)

        self.assertEqual('UPDATE_FAILED', status)
        self.assertIn('anti-affinity', reason[:255])
        self.assertEqual(4, len(self.servers()))
        self.assertEqual(['ACTIVE'] * 4, [*self.statuses().values()])

    def test_group_expires_at_the_latest_when_the_cloud_allows_it(self):
        self.check_created(
            {'group': hot.group(), 'a': hot.server('a')},
            'a',
            timeout_mins=CONF.vrt.max_expires_in // 60 + 1,
        )

    def test_group_without_servers_is_invalid(self):
        text = self.invalid({'group': hot.group()})

        self.assertIn('No server names the group', text)


class TestUpdate(base.HeatTestCase):
    def test_added_servers_are_placed_with_the_others(self):
        self.create_stack(SHOP)
        group = self.the_group()

        more = {
            **SHOP,
            'webs': hot.many(4, hot.server('web/web-%index%')),
        }
        status = self.update_stack(more)

        self.assertEqual('UPDATE_COMPLETE', status[0], status)
        self.assertEqual('ACTIVE', self.statuses()['web/web-3'])
        self.assertEqual(group['id'], self.the_group()['id'])
        self.assertEqual(2, self.the_group()['generation'])

    def test_update_without_a_change_sends_no_revision(self):
        self.create_stack(SHOP)
        updated_at = self.the_group()['updated_at']

        status = self.update_stack(SHOP, timeout_mins=9)

        self.assertEqual('UPDATE_COMPLETE', status[0], status)
        self.assertEqual(1, self.the_group()['generation'])
        self.assertEqual(updated_at, self.the_group()['updated_at'])

    def test_removed_servers_are_no_members_any_more(self):
        self.create_stack(SHOP)

        fewer = {
            **SHOP,
            'webs': hot.many(1, hot.server('web/web-%index%')),
        }
        status = self.update_stack(fewer)

        self.assertEqual('UPDATE_COMPLETE', status[0], status)
        self.assertEqual(2, len(self.servers()))
        members = self.the_group()['topology']['groups']['web']['members']
        self.assertEqual(1, members['web']['count'])


class TestDelete(base.HeatTestCase):
    def test_deleted_stack_leaves_no_group(self):
        self.create_stack(SHOP)

        self.delete_stack()

        groups = self.api().get('/os-vrt-groups').json()['vrt_groups']
        self.assertEqual([], groups)


class TestValues(base.HeatTestCase):
    """Values of other resources, in the descriptions of servers."""

    def test_group_waits_for_values_of_other_resources(self):
        resources = {
            'group': hot.group(),
            'size': {
                'type': 'OS::Heat::Value',
                'properties': {'value': 'm1.tiny'},
            },
            'a': hot.server('a', flavor={'get_attr': ['size', 'value']}),
        }

        status = self.create_stack(resources)

        self.assertEqual('CREATE_COMPLETE', status[0], status)
        members = self.the_group()['topology']['members']
        self.assertEqual('m1.tiny', members['a']['flavor'])

    def test_value_that_depends_on_the_group_is_invalid(self):
        value = {'get_attr': ['a', 'name']}
        resources = {
            'group': hot.group(),
            'a': hot.server('a'),
            'b': hot.server('b', availability_zone=value),
        }

        text = self.invalid(resources)

        for word in ('resources.b', 'availability_zone', ' a,'):
            self.assertIn(word, text)

    def nest(self, resources):
        """Return the definition of a nested stack, and its file."""
        for each in resources.values():
            if hints := each['properties'].get('scheduler_hints'):
                hints['vrt_group'] = {'get_param': 'group'}
        parameters = {'group': {'type': 'string'}}
        text = hot.template(resources, parameters=parameters)
        return {
            'type': 'nested.yaml',
            'properties': {'group': {'get_resource': 'group'}},
        }, {'nested.yaml': text}

    def test_value_of_a_nested_stack_is_invalid(self):
        size = {
            'type': 'OS::Heat::Value',
            'properties': {'value': 'm1.tiny'},
        }
        b = hot.server('b', flavor={'get_attr': ['size', 'value']})
        nested, files = self.nest({'size': size, 'b': b})

        text = self.invalid({'group': hot.group(), 'b': nested}, files=files)

        for word in ('resources.b.b', 'flavor', 'size'):
            self.assertIn(word, text)

    def test_servers_of_a_nested_stack_are_members(self):
        nested, files = self.nest({'b': hot.server('inner/b')})

        status = self.create_stack(
            {
                'group': hot.group(),
                'a': hot.server('a'),
                'b': nested,
            },
            files=files,
        )

        self.assertEqual('CREATE_COMPLETE', status[0], status)
        self.assertEqual({'a': 'ACTIVE', 'inner/b': 'ACTIVE'}, self.statuses())
