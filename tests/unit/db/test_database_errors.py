# SPDX-License-Identifier: Apache-2.0
"""Handlers of database errors, each of which has to catch every kind."""

import ast
import pathlib

from oslotest import base

import nova_groupext

PACKAGE = pathlib.Path(nova_groupext.__file__).parent
#: Says what there is; the others take it from there.
ERRORS = PACKAGE / 'db' / 'database_errors.py'


class TestHandlers(base.BaseTestCase):
    def test_no_handler_catches_translated_errors_alone(self):
        wrong = [
            f'{path.relative_to(PACKAGE)}:{node.lineno}'
            for path in PACKAGE.rglob('*.py')
            if path != ERRORS
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Attribute) and node.attr == 'DBError'
        ]

        self.assertEqual(
            [], wrong, 'these need nova_groupext.db.database_errors.ANY'
        )
