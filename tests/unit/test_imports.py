# SPDX-License-Identifier: Apache-2.0
"""Imports that packages and layers are allowed."""

import ast
import pathlib
import re
import sys

from oslotest import base

from nova_groupext.solver.policies import registry

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = 'nova_groupext'
CLIENT = 'nova_groupext_client'
POLICIES = 'nova_groupext.solver.policies'

# Each is a distribution of its own, with the folder that it is built from.
FOLDERS = {PACKAGE: ROOT, CLIENT: ROOT / 'client'}

# What a part of the package may import of the package, itself always; a
# module named here stands for itself alone.
ALLOWED = {
    'chunks': (),
    'exception': (),
    'faultpoints': (),
    'member_ref': (),
    'nova_releases': ('exception',),
    'conf': (),
    'policies': (),
    'solver': (),
    'db': ('conf',),
    'objects': (
        'db',
        'exception',
        'faultpoints',
        'solver.policies.registry',
    ),
    'membership': ('db', 'objects', 'solver.language.paths'),
    'notifications': ('conf', 'objects'),
    'quota': ('conf', 'db', 'exception', 'objects'),
    'scheduler': (
        'chunks',
        'conf',
        'db',
        'exception',
        'faultpoints',
        'membership',
        'notifications',
        'objects',
        'solver',
        'member_ref',
        'nova_releases',
        'quota',
    ),
    'api': (
        'conf',
        'db',
        'exception',
        'notifications',
        'objects',
        'solver.language',
        'solver.policies.registry',
        'member_ref',
        'membership',
        'policies',
        'quota',
        'scheduler.nova.servers',
        'scheduler.rpcapi',
    ),
    'cloud': ('db', 'nova_releases'),
    'cmd': (
        'cloud',
        'conf',
        'db',
        'exception',
        'nova_releases',
        'objects.keys',
        'solver',
        'scheduler',
    ),
}

# Packages in layers: each imports only itself and what is in lines above it.
LAYERS = {
    'solver': (
        ('aliases', 'tuning'),
        ('arrays',),
        ('policies',),
        ('language',),
        ('model',),
        ('bounds', 'construct', 'exact'),
        ('repair', 'proofs'),
        ('search', 'moves'),
        ('explain', 'verify'),
        ('solve',),
    ),
    'scheduler': (
        ('availability', 'process_names', 'rpcapi'),
        ('nova', 'placement'),
        ('current',),
        ('protocol',),
        ('look', 'adopt'),
        ('follow', 'resize'),
        ('release', 'redeem'),
        ('move', 'reap'),
        ('decide', 'audit'),
        ('serve', 'rounds'),
        ('filters', 'weights', 'planner_health'),
        ('manager', 'planner'),
        ('service',),
    ),
}

# The solver decides; it knows nothing of OpenStack.
NOT_IN_SOLVER = ('nova', 'oslo', 'placement', 'keystone')


class TestImports(base.BaseTestCase):
    def test_every_part_imports_only_allowed_parts(self):
        wrong = [
            f'{module} imports {imported}'
            for module, imported in _imports()
            if imported.startswith(f'{PACKAGE}.')
            and not _may(module, imported)
        ]

        self.assertEqual([], wrong)

    def test_the_solver_imports_nothing_of_openstack(self):
        wrong = [
            f'{module} imports {imported}'
            for module, imported in _imports()
            if module.startswith(f'{PACKAGE}.solver')
            and imported.startswith(NOT_IN_SOLVER)
            and not imported.startswith(PACKAGE)
        ]

        self.assertEqual([], wrong)

    def test_packages_import_only_lower_layers(self):
        wrong = [
            f'{module} imports {imported}'
            for part, lines in LAYERS.items()
            for module, imported in _imports(f'{PACKAGE}.{part}')
            if _is_upward(module, imported, f'{PACKAGE}.{part}.', lines)
        ]

        self.assertEqual([], wrong)

    def test_client_imports_nothing_of_the_control_plane(self):
        wrong = [
            f'{module} imports {imported}'
            for module, imported in _imports(CLIENT)
            if imported.split('.')[0] in ('nova', 'oslo', PACKAGE)
        ]

        self.assertEqual([], wrong)

    def test_control_plane_imports_only_drawing_hints_and_types(self):
        drawing, hints = f'{CLIENT}.drawing', f'{CLIENT}.hints'
        types = f'{CLIENT}.api_types'
        wrong = [
            f'{module} imports {imported}'
            for package in (PACKAGE, drawing, hints, types)
            for module, imported in _imports(package)
            if imported.startswith(f'{CLIENT}.')
            and not imported.startswith((f'{drawing}.', hints, types))
        ]

        self.assertEqual([], wrong)

    def test_policy_types_import_no_stage_of_the_solver(self):
        """The API imports them, and stages hand in their tools."""
        allowed = (
            f'{PACKAGE}.solver.aliases',
            *(f'{POLICIES}.{name}' for name in ('base', 'distances')),
            *(f'{POLICIES}.{name}' for name in ('tools', 'view')),
        )
        wrong = [
            f'{module} imports {imported}'
            for kind in registry.types().values()
            for module, imported in _imports(kind.__module__)
            if imported.partition('.')[0] not in sys.stdlib_module_names
            and not imported.startswith(allowed)
        ]

        self.assertEqual([], wrong)

    def test_nothing_else_mentions_a_policy_type(self):
        own = {
            ROOT / f'{kind.__module__.replace(".", "/")}.py'
            for kind in registry.types().values()
        }
        names = '|'.join(registry.types())
        wrong = [
            f'{path}: {found}'
            for path in (ROOT / PACKAGE).rglob('*.py')
            if path not in own
            for found in re.findall(f"'(?:{names})'", path.read_text())
        ]

        self.assertEqual([], wrong)

    def test_every_part_has_a_rule(self):
        parts = {
            path.stem
            for path in (ROOT / PACKAGE).iterdir()
            if path.name != '__init__.py'
            and (path.suffix == '.py' or (path / '__init__.py').exists())
        }

        self.assertEqual(set(ALLOWED), parts)


def _imports(package=PACKAGE):
    """Yield (module, imported name) of every import in a package."""
    folder = FOLDERS[package.partition('.')[0]]
    root = folder / package.replace('.', '/')
    for path in (root.with_suffix('.py'), *root.rglob('*.py')):
        if not path.exists():
            continue
        module = '.'.join(path.relative_to(folder).with_suffix('').parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield module, alias.name
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    yield module, f'{node.module}.{alias.name}'


def _may(module, imported):
    part = module.split('.')[1]
    inside = imported.removeprefix(f'{PACKAGE}.')
    return any(
        inside == allowed or inside.startswith(f'{allowed}.')
        for allowed in (part, *ALLOWED.get(part, ()))
    )


def _is_upward(module, imported, part, lines):
    if not (module.startswith(part) and imported.startswith(part)):
        return False
    line_of = {name: n for n, names in enumerate(lines) for name in names}
    own = module.removeprefix(part).partition('.')[0]
    other = imported.removeprefix(part).partition('.')[0]
    return other != own and line_of[other] >= line_of[own]
