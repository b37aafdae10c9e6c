# SPDX-License-Identifier: Apache-2.0
"""Updates of stacks whose servers are in stacks nested in each other."""

from tests.heat import base
from tests.heat import hot

GET = {'get_resource': 'group'}
# Types of parameters that are no strings
TYPES = {'number': 'number'}
# It takes so long that all that does not wait for it comes first.
WAIT = {
    'type': 'OS::Heat::TestResource',
    'properties': {'action_wait_secs': {'create': 3}},
}


def inner(definition):
    """Return a resource of a nested stack: its servers name the parameter."""
    hints = definition['properties']['scheduler_hints']
    hints['vrt_group'] = {'get_param': 'group'}
    return definition


def nested(resources, *more, **sections):
    """Return the text of a template that may get the group, and more."""
    parameters = {
        'group': {'type': 'string', 'default': ''},
        **{name: {'type': TYPES.get(name, 'string')} for name in more},
    }
    return hot.template(resources, parameters=parameters, **sections)


def unit(template, *names):
    """Return a resource of a template that passes on parameters."""
    passed = {name: {'get_param': name} for name in names}
    group = {'get_param': 'group'} if names else GET
    return {'type': template, 'properties': {'group': group, **passed}}


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


class TestNestedValues(base.HeatTestCase):
    """The group waits for what its members in nested stacks are made of."""

    def test_values_are_waited_for_at_any_depth(self):
        """Without them, the members have other flavors, paths and numbers."""
        path = {
            'str_replace': {
                'template': 'K-%index%',
                'params': {'K': {'get_param': 'kind'}},
            }
        }
        web = inner(hot.server(path, flavor={'get_param': 'flavor'}))
        extra = {**inner(hot.server('extra')), 'condition': 'has_extra'}
        is_yes = {'equals': [{'get_param': 'extra'}, 'yes']}
        names = ('kind', 'flavor', 'number', 'extra')
        files = {
            'pod.yaml': nested(
                {'webs': hot.many({'get_param': 'number'}, web), 'x': extra},
                *names,
                conditions={'has_extra': is_yes},
            ),
            'cell.yaml': nested(
                {'pods': hot.many(1, unit('pod.yaml', *names))}, *names
            ),
        }
        late = {
            'kind': 'db',
            'flavor': 'm1.small',
            'number': 2,
            'extra': 'yes',
        }
        cell = unit('cell.yaml')
        for name in names:
            cell['properties'][name] = {'get_attr': [f'late-{name}', 'value']}

        self.check_created(
            {
                'group': hot.group(),
                'wait': WAIT,
                **{
                    f'late-{name}': hot.value(value, depends_on='wait')
                    for name, value in late.items()
                },
                'cell': cell,
            },
            *('db-0', 'db-1', 'extra-0'),
            files=files,
        )

        member = self.the_group()['topology']['members']['db']
        self.assertEqual('m1.small', member['flavor'])

    def test_nested_stack_of_two_groups_may_need_members_of_both(self):
        names = ('one', 'two', 'first', 'second')
        inside = {
            f'{name}-inside': hot.server(
                f'{name}-inside',
                metadata={'peer': {'get_param': peer}},
                scheduler_hints={
                    'vrt_group': {'get_param': name},
                    'vrt_member': f'{name}-inside',
                },
            )
            for name, peer in (('one', 'second'), ('two', 'first'))
        }
        pod = {
            'type': 'pod.yaml',
            'properties': {
                'one': {'get_resource': 'one'},
                'two': {'get_resource': 'two'},
                'first': {'get_attr': ['a', 'name']},
                'second': {'get_attr': ['b', 'name']},
            },
        }

        self.check_created(
            {
                'one': hot.group(),
                'two': hot.group(),
                'a': hot.server('a', group='one'),
                'b': hot.server('b', group='two'),
                'pod': pod,
            },
            *('a', 'b', 'one-inside', 'two-inside'),
            files={'pod.yaml': nested(inside, *names)},
        )
