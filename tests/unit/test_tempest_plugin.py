# SPDX-License-Identifier: Apache-2.0
"""Coverage, documentation and imports of the Tempest plugin."""

import ast
import sys

from nova.policies import base as nova_policies
from oslotest import base

from nova_groupext.api import vrt_groups
from nova_groupext.api import vrt_members
from nova_groupext.api.schemas import request_schemas
from nova_groupext.policies import rules
from tests import tempest_plugin
from tests.tempest_plugin import calls

LAST = 'sub/b-0'
TOPOLOGY = {'members': {'a': {'flavor': 'small'}}}
GROUP = {
    'id': '{id}',
    'generation': 1,
    'topology': TOPOLOGY,
    'members': [{'path': LAST}],
}
MAY_IMPORT = ('oslo_', 'tempest', tempest_plugin.PACKAGE)


def route(method, path):
    """Return a route with uniform names of its parameters."""
    path = path.removeprefix('/os-vrt-groups').partition('?')[0]
    for name, word in (('{group_id}', '{id}'), (LAST, '{path}')):
        path = path.replace(name, word)
    return method, path.replace('{path:.+}', '{path}')


class TestCalls(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.routes = {
            route(method, path)
            for path, methods in (*vrt_groups.ROUTES, *vrt_members.ROUTES)
            for method in methods
        }
        self.good = [
            *calls.calls_of_project(TOPOLOGY),
            *calls.calls_of_group(GROUP),
        ]
        self.bad = [
            *calls.bad_calls_of_project(TOPOLOGY),
            *calls.bad_calls_of_group(GROUP),
        ]

    def test_every_route_is_called(self):
        called = {route(call.method, call.path) for call in self.good}

        self.assertEqual(self.routes, called)

    def test_every_route_with_input_has_an_invalid_call(self):
        called = {route(call.method, call.path) for call in self.bad}

        self.assertEqual(self.routes, called)

    def test_every_action_has_valid_and_invalid_calls(self):
        actions = set(request_schemas.ACTION['properties'])
        good = {call.name for call in self.good if call.is_action}
        bad = {call.name for call in self.bad if call.is_action}

        self.assertEqual(actions, good)
        # Bodies that name no action that there is.
        self.assertEqual(actions | {'action'}, bad)

    def test_reads_are_the_calls_open_to_readers(self):
        reads = {
            route(call.method, call.path)
            for call in self.good
            if call.name in calls.READER_CALLS
        }
        allowed = {
            route(operation['method'], operation['path'])
            for rule in rules.RULES
            if rule.check_str == nova_policies.PROJECT_READER_OR_ADMIN
            for operation in rule.operations
        }

        self.assertEqual(allowed, reads)


class TestRelaxations(base.BaseTestCase):
    def test_min_counts_are_lowered_at_their_paths(self):
        counted = {'members': {'b': {'count': 3}}}
        topology = {'members': {'a': {}}, 'groups': {'sub': counted}}

        changed = tempest_plugin.relaxations.apply(
            topology, {'min_counts': {'a': 0, 'sub/b': 2}}
        )

        self.assertEqual({'min_count': 0}, changed['members']['a'])
        self.assertEqual(
            {'count': 3, 'min_count': 2},
            changed['groups']['sub']['members']['b'],
        )
        self.assertEqual({}, topology['members']['a'])


class TestReadme(base.BaseTestCase):
    def test_readme_documents_every_option(self):
        text = (tempest_plugin.ROOT / 'README.rst').read_text()
        options = tempest_plugin.config.VRT_OPTS

        missing = [o.name for o in options if f' {o.name} = ' not in text]
        self.assertEqual([], missing)


class TestImports(base.BaseTestCase):
    def test_plugin_imports_neither_our_code_nor_that_of_services(self):
        package = tempest_plugin.ROOT / tempest_plugin.PACKAGE
        wrong = [
            f'{path.name} imports {name}'
            for path in package.rglob('*.py')
            for name in self.imported(path)
            if name.partition('.')[0] not in sys.stdlib_module_names
            and not name.startswith(MAY_IMPORT)
        ]

        self.assertEqual([], wrong)

    def imported(self, path):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                yield node.module
            elif isinstance(node, ast.Import):
                yield from (name.name for name in node.names)
