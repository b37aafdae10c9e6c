# SPDX-License-Identifier: Apache-2.0
"""Does every handler know all that trouble with a database is raised as?"""

import ast
import pathlib

from oslotest import base

import nova_groupext

PACKAGE = pathlib.Path(nova_groupext.__file__).parent
#: Says what there is; the others take it from there.
ERRORS = PACKAGE / 'db' / 'database_errors.py'


class TestHandlers(base.BaseTestCase):
    def test_nobody_catches_the_translated_errors_alone(self):
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
