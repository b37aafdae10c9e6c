# SPDX-License-Identifier: Apache-2.0
"""Modules and functions of the product stay short enough to be read."""

import ast
from collections.abc import Iterator
import pathlib

from oslotest import base

ROOT = pathlib.Path(__file__).parents[2]
FOLDERS = (ROOT / 'nova_groupext', ROOT / 'client/nova_groupext_client')
# Lines, with docstrings and comments.
MAX_MODULE, MAX_FUNCTION = 350, 40


class TestSizes(base.BaseTestCase):
    def test_no_module_is_too_long(self):
        too_long = {
            str(path): number
            for path in _modules()
            if (number := len(path.read_text().splitlines())) > MAX_MODULE
        }

        self.assertEqual({}, too_long)

    def test_no_function_is_too_long(self):
        too_long = {
            f'{path}: {each.name}': number
            for path in _modules()
            for each in ast.walk(ast.parse(path.read_text()))
            if isinstance(each, ast.FunctionDef)
            and (number := each.end_lineno - each.lineno + 1) > MAX_FUNCTION
        }

        self.assertEqual({}, too_long)


def _modules() -> Iterator[pathlib.Path]:
    """Yield the product's modules, except migrations, which are written once.

    :raises: LookupError if a folder has none
    """
    for folder in FOLDERS:
        found = [
            path
            for path in sorted(folder.rglob('*.py'))
            if 'migrations' not in path.parts
        ]
        if not found:
            raise LookupError(folder)
        yield from found
