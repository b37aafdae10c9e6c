# SPDX-License-Identifier: Apache-2.0
"""Requirements and entry points of every distribution."""

import configparser
import functools
from importlib import metadata
import itertools
import pathlib
import re
import sys

from oslotest import base
from packaging import requirements
from packaging import utils

ROOT = pathlib.Path(__file__).parents[2]

# {distribution: the folder that it is built from}
FOLDERS = {'nova-groupext': ROOT, 'nova-groupext-client': ROOT / 'client'}

# What only an extra makes possible, as {module or folder: extra}.
EXTRAS = {
    'nova-groupext': {'nova_groupext/cloud': 'cloud'},
    'nova-groupext-client': {
        'nova_groupext_client/novaclient_ext.py': 'novaclient'
    },
}
# Modules that another program loads, which has what they import.
PLUGINS = {'nova-groupext-client': 'nova_groupext_client/heat/'}
# Imported by others, in extras: Nova's fake driver, and the user's shell.
OF_OTHERS = {'fixtures', 'nova-groupext-client', 'python-openstackclient'}

# Python's own parser takes seconds for all modules.
IMPORT = re.compile(
    r'(?m)^ *(?:import (\w+)[\w.]*(?: as \w+)?|from (\w+)[\w.]* import .*)$'
)


@functools.cache
def settings(distribution):
    """Return the ConfigParser of a distribution's setup.cfg."""
    parser = configparser.ConfigParser()
    parser.optionxform = str
    parser.read(FOLDERS[distribution] / 'setup.cfg')
    return parser


def required(distribution, extra=None):
    """Return the Requirements of a distribution, or of one of its extras."""
    if extra is None:
        text = (FOLDERS[distribution] / 'requirements.txt').read_text()
    else:
        text = settings(distribution)['extras'][extra]
    return parse(text)


def extras(distribution):
    """Return the extras of a distribution, None as the first one."""
    parser = settings(distribution)
    found = parser.options('extras') if parser.has_section('extras') else ()
    return [None, *found]


def parse(text):
    """Return the Requirements in the lines of a text."""
    lines = (line.split('#')[0].strip() for line in text.splitlines())
    return [requirements.Requirement(line) for line in lines if line]


def names(found):
    """Return the normalised names of requirements."""
    return {utils.canonicalize_name(each.name) for each in found}


def everything():
    """Return the Requirements of every distribution and every extra."""
    return list(
        itertools.chain.from_iterable(
            required(distribution, extra)
            for distribution in FOLDERS
            for extra in extras(distribution)
        )
    )


@functools.cache
def imported(distribution):
    """Return {extra or None: [names of who provides an imported package]}."""
    providers = metadata.packages_distributions()
    found = {}
    for path in modules(distribution):
        own = settings(distribution)['files']['packages'].strip()
        here = found.setdefault(extra_of(distribution, path), set())
        here |= top_names(path) - sys.stdlib_module_names - {own}
    return {
        extra: [
            set(map(utils.canonicalize_name, providers.get(name, [name])))
            for name in packages
        ]
        for extra, packages in found.items()
    }


def modules(distribution):
    """Return the paths of all modules of a distribution, but of plug-ins."""
    folder = FOLDERS[distribution]
    package = settings(distribution)['files']['packages'].strip()
    plugins = str(folder / PLUGINS.get(distribution, '-'))
    return [
        each
        for each in (folder / package).rglob('*.py')
        if not str(each).startswith(plugins)
    ]


def extra_of(distribution, path):
    """Return the extra that a module belongs to, None for most."""
    inside = path.relative_to(FOLDERS[distribution]).as_posix()
    for prefix, extra in EXTRAS.get(distribution, {}).items():
        if inside.startswith(prefix):
            return extra
    return None


def top_names(path):
    """Return the names of the top-level packages that a module imports."""
    return {
        name for found in IMPORT.findall(path.read_text()) for name in found
    } - {''}


def closure(name):
    """Return the names of all that an installed distribution brings."""
    found, todo = set(), [name]
    while todo:
        for text in metadata.requires(todo.pop()) or ():
            each = requirements.Requirement(text)
            name = utils.canonicalize_name(each.name)
            if name not in found and is_installed_with(each):
                found.add(name)
                todo.append(name)
    return found


def is_installed_with(requirement):
    """Check whether a requirement counts here, and without any extra."""
    marker = requirement.marker
    return marker is None or marker.evaluate({'extra': ''})


class TestRequirements(base.BaseTestCase):
    def test_every_import_is_required_where_it_is_used(self):
        for distribution in FOLDERS:
            always = names(required(distribution))
            for extra, found in imported(distribution).items():
                here = names(required(distribution, extra)) | always
                missing = [some for some in found if not some & here]
                self.assertEqual([], missing, (distribution, extra))

    def test_every_requirement_is_imported(self):
        for distribution in FOLDERS:
            for extra in extras(distribution):
                unused = names(required(distribution, extra)).difference(
                    OF_OTHERS, *imported(distribution).get(extra, ())
                )
                self.assertEqual(set(), unused, (distribution, extra))

    def test_client_requires_nothing_that_nova_does_not_bring(self):
        brought = closure('nova')

        self.assertIn('openstacksdk', brought)
        self.assertEqual(
            set(), names(required('nova-groupext-client')) - brought
        )

    def test_bounds_admit_the_constraints(self):
        """Of the newest release of OpenStack, and of older ones."""
        older = sorted((ROOT / 'constraints').glob('*.txt'))
        self.assertNotEqual([], older)
        for path in (ROOT / 'constraints.txt', *older):
            pins = {
                utils.canonicalize_name(pin.name): pin
                for pin in parse(path.read_text())
            }
            for each in everything():
                name = utils.canonicalize_name(each.name)
                if name in FOLDERS:
                    continue
                (pin,) = pins[name].specifier
                self.assertTrue(
                    each.specifier.contains(pin.version), (path.name, each)
                )

    def test_no_requirement_has_an_upper_bound(self):
        for each in everything():
            operators = {bound.operator for bound in each.specifier}
            self.assertLessEqual(operators, {'>='}, each)


class TestEntryPoints(base.BaseTestCase):
    def test_installed_entry_points_equal_those_of_the_work_tree(self):
        """An environment that is older is brought up to date by tox -r."""
        for distribution in FOLDERS:
            sections = settings(distribution)['entry_points']
            written = {
                (group, *(part.strip() for part in line.split('=')))
                for group, lines in sections.items()
                for line in lines.strip().splitlines()
            }
            installed = metadata.distribution(distribution).entry_points

            self.assertEqual(
                written,
                {(each.group, each.name, each.value) for each in installed},
            )
