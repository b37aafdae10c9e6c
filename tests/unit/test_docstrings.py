# SPDX-License-Identifier: Apache-2.0
"""Docstrings, which begin with a verb or a noun and not with a clause."""

import ast

from oslotest import base

from tests.unit import test_imports

# These words hide the subject, or ask a question instead of an answer.
HEADLESS = frozenset(
    (
        *('how', 'is', 'let', 'say', 'see', 'tell', 'that', 'those', 'what'),
        *('where', 'whether', 'who', 'whose', 'why'),
    )
)


class TestDocstrings(base.BaseTestCase):
    def test_no_docstring_begins_with_a_headless_clause(self):
        wrong = [
            f'{module}:{line}: {text[:50]}'
            for module, line, text in _docstrings()
            if text.split()[0].lower().strip(',.:`') in HEADLESS
        ]

        self.assertEqual([], wrong)


def _docstrings():
    """Yield (path, line, docstring) of all docstrings of the products."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef
    for package, folder in test_imports.FOLDERS.items():
        for path in sorted((folder / package).rglob('*.py')):
            for node in ast.walk(ast.parse(path.read_text())):
                text = isinstance(node, kinds) and ast.get_docstring(node)
                if text:
                    line = getattr(node, 'lineno', 1)
                    yield path.relative_to(folder), line, text
