# SPDX-License-Identifier: Apache-2.0
"""Definitions that a group can, and cannot, be read from."""

from tests.heat import base
from tests.heat import hot
from tests.heat import test_scaling

G = {'type': 'string'}
GET = {'get_resource': 'group'}


def hinted(**hints):
    """Return a server with these hints."""
    return hot.server('a', scheduler_hints=hints)


class TestInvalid(base.HeatTestCase):
    def check(self, *words, group=None, files=None, **resources):
        """Check that a stack is refused, and that the error has some words."""
        text = self.invalid(
            {'group': group or hot.group(), **resources}, files=files or {}
        )

        for word in words:
            self.assertIn(word, text)

    def test_units_that_name_the_same_member(self):
        web = hinted(vrt_group={'get_param': 'group'}, vrt_member='w-%index%')
        cell = hot.template(
            {'webs': hot.many(2, web)}, parameters={'group': G}
        )
        unit = {'type': 'cell.yaml', 'properties': {'group': GET}}

        self.check(
            'cells.0.webs.0 and cells.1.webs.0 are both w-0',
            cells=hot.many(2, unit),
            files={'cell.yaml': cell},
        )

    def test_unknown_images(self):
        self.check(
            *('resources.webs[0].properties.image', 'nope'),
            webs=hot.many(2, hot.server('web-%index%', image='nope')),
        )

    def test_numbers_of_scaled_units(self):
        self.check(
            *('resources.w.', 'only a ResourceGroup has %index%'),
            w=test_scaling.scaled(1, 2, hot.server('w-%index%')),
        )

    def test_paths_that_are_no_texts(self):
        for path in ({'a': 'b'}, ['a', 'b'], ''):
            with self.subTest(path):
                self.check(
                    'vrt_member must be a text',
                    a=hinted(vrt_group=GET, vrt_member=path),
                )
        self.check('needs vrt_member', a=hinted(vrt_group=GET))

    def test_times_of_expiry_that_are_not_positive(self):
        for seconds in (0, -1):
            with self.subTest(seconds):
                self.check(
                    'expires_in',
                    group=hot.group(expires_in=seconds),
                    a=hot.server('a'),
                )

    def test_what_is_made_of_members(self):
        later = hot.value(3, depends_on='a')
        get = {'get_attr': ['later', 'value']}
        for word, server in (
            ('count', hot.many(get, hot.server('b-%index%'))),
            ('desired_capacity', self.scaled(get)),
            ('flavor', hot.many(2, hot.server('b-%index%', flavor=get))),
            ('scheduler_hints', hot.server(get)),
        ):
            with self.subTest(word):
                self.check(
                    f'resources.b.properties.{word}',
                    'must not depend on later',
                    a=hot.server('a'),
                    later=later,
                    b=server,
                )

    def test_parameters_that_are_made_of_members(self):
        pod = hot.template(
            {
                'b': hot.server(
                    'b',
                    flavor={'get_param': 'flavor'},
                    scheduler_hints={
                        'vrt_group': {'get_param': 'group'},
                        'vrt_member': 'b',
                    },
                ),
            },
            parameters={'group': G, 'flavor': {**G, 'default': 'm1.tiny'}},
        )
        get = {'get_attr': ['later', 'value']}

        self.check(
            *('resources.pod.b.properties.flavor', 'depend on later'),
            a=hot.server('a'),
            later=hot.value('m1.small', depends_on='a'),
            pod={
                'type': 'pod.yaml',
                'properties': {'group': GET, 'flavor': get},
            },
            files={'pod.yaml': pod},
        )

    def test_numbers_of_units_in_a_nested_stack_that_come_later(self):
        """Other groups of resources in it may be of any size."""
        server = hot.server('b-%index%')
        hints = server['properties']['scheduler_hints']
        hints['vrt_group'] = {'get_param': 'group'}
        get = {'get_attr': ['inside', 'value']}
        for size, text in ((get, 'inside'), ({'get_param': 'n'}, 'later')):
            pod = hot.template(
                {
                    'b': hot.many(size, server),
                    'inside': hot.value(2),
                    'others': hot.many(get, hot.value(1)),
                },
                parameters={'group': G, 'n': {'type': 'number', 'default': 1}},
            )
            with self.subTest(text):
                self.check(
                    'resources.pod.b.properties.count',
                    f'must not depend on {text}',
                    a=hot.server('a'),
                    later=hot.value(3, depends_on='a'),
                    pod={
                        'type': 'pod.yaml',
                        'properties': {
                            'group': GET,
                            'n': {'get_attr': ['later', 'value']},
                        },
                    },
                    files={'pod.yaml': pod},
                )

    def scaled(self, size):
        worker = hot.server('worker')
        return test_scaling.scaled(1, 3, worker, desired_capacity=size)


class TestLegacyEngine(base.HeatTestCase):
    HEAT_OPTIONS = 'convergence_engine = false'

    def test_its_stacks_can_have_no_group(self):
        text = self.invalid({'group': hot.group(), 'a': hot.server('a')})

        self.assertIn('needs the convergence engine', text)


class TestValid(base.HeatTestCase):
    def test_hints_may_be_numbers_and_lists_of_one(self):
        self.check_created(
            {
                'group': hot.group(),
                'a': hinted(vrt_group=[GET], vrt_member='a'),
                'b': hinted(vrt_group=GET, vrt_member=5),
            },
            *('a', '5'),
        )

    def test_values_that_are_not_given_are_left_out(self):
        template = hot.template(
            {
                'group': hot.group(),
                'a': hot.server(
                    'a',
                    availability_zone={'if': ['z', {'get_param': 'zone'}]},
                ),
                'b': hot.server('b', availability_zone={'get_param': 'zone'}),
            },
            parameters={'zone': {'type': 'string', 'default': ''}},
            conditions={'z': {'not': {'equals': [{'get_param': 'zone'}, '']}}},
        )

        self.check_created(template, 'a', 'b')

    def test_path_that_is_made_of_a_value_is_waited_for(self):
        path = {'list_join': ['-', ['web', {'get_attr': ['n', 'value']}]]}

        self.check_created(
            {'group': hot.group(), 'n': hot.value('z'), 'a': hot.server(path)},
            'web-z',
        )

    def test_empty_group_of_scaled_units_is_a_member(self):
        workers = test_scaling.scaled(0, 2, hot.server('worker'))

        self.check_created(
            {'group': hot.group(), 'a': hot.server('a'), 'workers': workers},
            'a',
        )

        member = self.the_group()['topology']['members']['worker']
        self.assertEqual((0, 2), (member['count'], member['max_count']))

    def test_group_may_have_no_member_yet(self):
        workers = test_scaling.scaled(0, 2, hot.server('worker'))

        self.check_created({'group': hot.group(), 'workers': workers})

    def test_servers_of_two_groups_may_be_in_one_nested_stack(self):
        pod = hot.template(
            {
                f'of-{name}': hinted(
                    vrt_group={'get_param': name}, vrt_member='web'
                )
                for name in ('one', 'two')
            },
            parameters={'one': G, 'two': G},
        )
        names = {
            'one': {'get_resource': 'one'},
            'two': {'get_resource': 'two'},
        }

        status = self.create_stack(
            {
                'one': hot.group(),
                'two': hot.group(),
                'pod': {'type': 'pod.yaml', 'properties': names},
            },
            files={'pod.yaml': pod},
        )

        self.assertEqual('CREATE_COMPLETE', status[0], status)
