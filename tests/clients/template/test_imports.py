# SPDX-License-Identifier: Apache-2.0
"""Imports of the template language: Python, PyYAML, and names of the API."""

import ast
import pathlib
import sys

from oslotest import base

from nova_groupext_client import api_types
from nova_groupext_client import hints
from nova_groupext_client import template

OURS = (template.__name__, api_types.__name__, hints.__name__)


class TestImports(base.BaseTestCase):
    def test_template_language_imports_only_python_and_yaml(self):
        wrong = {
            name
            for path in pathlib.Path(template.__file__).parent.glob('*.py')
            for name in _imported(path)
            if name.partition('.')[0] not in {*sys.stdlib_module_names, 'yaml'}
            and not name.startswith(OURS)
        }

        self.assertEqual(set(), wrong)


def _imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f'{node.module}.{alias.name}' for alias in node.names)
