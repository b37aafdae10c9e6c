# SPDX-License-Identifier: Apache-2.0
"""Imports and help of the clients, which run without Nova and start fast."""

from importlib import metadata
import pathlib
import subprocess
import sys

from oslotest import base

from tests.clients import shell

ROOT = pathlib.Path(__file__).parents[2]
COMMANDS = 'openstack.vrt.v1'

# Packages of servers, which a user's machine does not have.
NOT_ON_A_LAPTOP = (
    'nova',
    'nova_groupext',
    'placement',
    'oslo_db',
    'oslo_messaging',
    'sqlalchemy',
    'highspy',
    'numpy',
)
EVERYTHING = """
import importlib, pkgutil, sys
import nova_groupext_client as package
for each in pkgutil.walk_packages(package.__path__, 'nova_groupext_client.'):
    # Only Heat loads its plugin.
    if not each.name.startswith('nova_groupext_client.heat.'):
        importlib.import_module(each.name)
print(*sys.modules)
"""
# Imports like those of openstackclient for its help.
HELP = """
import sys
from importlib import metadata
from openstackclient import shell
before = set(sys.modules)
for each in metadata.entry_points(group='openstack.vrt.v1'):
    each.load()
print(*(set(sys.modules) - before))
"""


def modules(program):
    """Return the names of modules that a program prints."""
    return subprocess.run(
        [sys.executable, '-W', 'ignore', '-c', program],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split()


class TestImports(base.BaseTestCase):
    def test_clients_import_no_server_packages(self):
        loaded = modules(EVERYTHING)

        self.assertIn('nova_groupext_client.osc.v1.group', loaded)
        self.assertEqual([], sorted(set(NOT_ON_A_LAPTOP) & set(loaded)))

    def test_help_imports_only_command_modules(self):
        ours = 'nova_groupext_client'

        loaded = modules(HELP)

        self.assertIn(f'{ours}.osc.v1.group', loaded)
        wrong = [
            name
            for name in loaded
            if not name.startswith((f'{ours}.osc', 'osc_lib'))
            and name not in (ours, f'{ours}.sentences')
        ]
        self.assertEqual([], wrong)


class TestHelp(base.BaseTestCase):
    def test_every_command_has_a_help(self):
        names = metadata.entry_points(group=COMMANDS).names
        self.assertIn('vrt_group_create', names)

        listed = shell.run('--help').out

        for name in names:
            words = name.replace('_', ' ')
            self.assertRegex(listed, rf'(?m)^  {words} +[A-Z]')
            told = shell.run('help', *words.split()).out
            self.assertRegex(told, rf'^usage: \S+ {words}')

    def test_every_command_is_documented(self):
        page = (ROOT / 'doc/source/user/clients.rst').read_text()

        for name in metadata.entry_points(group=COMMANDS).names:
            words = name.replace('_', ' ')
            self.assertIn(f'``openstack {words}``', page)

    def test_every_option_is_long_and_explained(self):
        app = shell.shell.OpenStackShell()
        for each in metadata.entry_points(group=COMMANDS):
            parser = each.load()(app, None).get_parser(each.name)
            for action in parser._actions:
                self.assertTrue(action.help, (each.name, action))
                self.assertTrue(
                    not action.option_strings
                    or any(o.startswith('--') for o in action.option_strings),
                    (each.name, action),
                )
