# SPDX-License-Identifier: Apache-2.0
"""Updates of stacks whose servers are in stacks nested in each other."""

from tests.heat import base
from tests.heat import hot

GET = {'get_resource': 'group'}


def inner(definition):
    """Return a resource of a nested stack: its servers name the parameter."""
    hints = definition['properties']['scheduler_hints']
    hints['vrt_group'] = {'get_param': 'group'}
    return definition


def nested(resources, *more):
    """Return the text of a template that gets the group, and more."""
    names = ('group', *more)
    return hot.template(
        resources, parameters={name: {'type': 'string'} for name in names}
    )


class TestNested(base.HeatTestCase):
    def check(self, *members):
        """Check the members of the group, by their paths."""
        self.assertEqual(dict.fromkeys(members, 'ACTIVE'), self.statuses())

    def create(self, resources, **more):
        status = self.create_stack(resources, **more)

        self.assertEqual('CREATE_COMPLETE', status[0], status)

    def update(self, resources, **more):
        status = self.update_stack(resources, **more)

        self.assertEqual('UPDATE_COMPLETE', status[0], status)
        self.follow()

    def test_groups_inside_units_of_a_group_can_grow(self):
        path = {
            'str_replace': {
                'template': 'cell-N/web-%index%',
                'params': {'N': {'get_param': 'number'}},
            }
        }
        webs = hot.many(1, inner(hot.server(path)))
        files = {'cell.yaml': nested({'webs': webs}, 'number')}

        def cells(count):
            unit = {
                'type': 'cell.yaml',
                'properties': {'group': GET, 'number': '%index%'},
            }
            return {'group': hot.group(), 'cells': hot.many(count, unit)}

        self.create(cells(1), files=files)
        self.update(cells(2), files=files)

        self.check('cell-0/web-0', 'cell-1/web-0')

    def test_removed_units_are_no_members_any_more(self):
        path = {
            'str_replace': {
                'template': 'cell-N/db',
                'params': {'N': {'get_param': 'number'}},
            }
        }
        files = {'cell.yaml': nested({'s': inner(hot.server(path))}, 'number')}

        def cells(*removed):
            unit = {
                'type': 'cell.yaml',
                'properties': {'group': GET, 'number': '%index%'},
            }
            units = hot.many(2, unit)
            policies = [{'resource_list': [*removed]}]
            units['properties']['removal_policies'] = policies
            return {'group': hot.group(), 'cells': units}

        self.create(cells(), files=files)

        self.update(cells('0'), files=files)

        self.check('cell-1/db-0', 'cell-2/db-0')

    def test_server_that_becomes_a_group_is_replaced(self):
        self.create({'group': hot.group(), 'a': hot.server('a')})

        self.update(
            {
                'group': hot.group(),
                'a': hot.many(2, hot.server('web-%index%')),
            }
        )

        self.check('web-0', 'web-1')


class TestTwoGroups(base.HeatTestCase):
    """A nested stack gets the groups, and values of servers of both."""

    def test_a_nested_stack_may_need_members_of_both(self):
        parameters = {
            name: {'type': 'string'}
            for name in ('one', 'two', 'flavor', 'first', 'second')
        }
        inside = {
            f'{name}-inside': hot.server(
                f'{name}-inside',
                flavor={'get_param': 'flavor'},
                metadata={'peer': {'get_param': peer}},
                scheduler_hints={
                    'vrt_group': {'get_param': name},
                    'vrt_member': f'{name}-inside',
                },
            )
            for name, peer in (('one', 'second'), ('two', 'first'))
        }
        flavor = {
            'type': 'OS::Heat::Value',
            'properties': {'value': 'm1.small'},
        }
        pod = {
            'type': 'pod.yaml',
            'properties': {
                'one': {'get_resource': 'one'},
                'two': {'get_resource': 'two'},
                'flavor': {'get_attr': ['flavor', 'value']},
                'first': {'get_attr': ['a', 'name']},
                'second': {'get_attr': ['b', 'name']},
            },
        }

        status = self.create_stack(
            {
                'one': hot.group(),
                'two': hot.group(),
                'flavor': flavor,
                'a': hot.server('a', group='one'),
                'b': hot.server('b', group='two'),
                'pod': pod,
            },
            files={'pod.yaml': hot.template(inside, parameters=parameters)},
        )

        self.assertEqual('CREATE_COMPLETE', status[0], status)
        flavors = {
            path: member['flavor']
            for group in self.all_groups()
            for path, member in group['topology']['members'].items()
        }
        self.assertEqual('m1.small', flavors['one-inside'])
        self.assertEqual('m1.small', flavors['two-inside'])
