# SPDX-License-Identifier: Apache-2.0
"""Sphinx: ``sphinx-build -W doc/source doc/build``."""

import inspect

from nova_groupext.solver.policies import registry

extensions = ['sphinx.ext.autodoc']
project = 'nova_groupext'
copyright = 'nova_groupext developers'
html_theme = 'alabaster'


def describe_policy_types():
    """Return the installed policy types, those of other packages too.

    :returns: list of lines of text
    """
    lines = []
    for name, kind in registry.types().items():
        lines += [f'``{name}``', *_indent(inspect.getdoc(kind)), '']
        for key, field in kind.parameters().items():
            shape = ', '.join(
                f'{word} {value}'
                for word, value in field.metadata['schema'].items()
            )
            lines += [*_indent(f'* ``{key}``: {shape}'), '']
        facts = [f for f in kind.list_facts() if getattr(kind, f)]
        words = ', '.join(f'``{fact}``' for fact in facts) or 'none'
        sees = f'sees {kind.sees}'
        lines += [*_indent(f'Facts: {words}; {sees}.'), '']
    return lines


def _indent(text):
    return [f'   {line}' for line in text.splitlines()]


def setup(app):
    """Add the directive ``policy-types``."""
    from docutils import nodes
    from docutils import statemachine
    from docutils.parsers import rst

    class PolicyTypes(rst.Directive):
        def run(self):
            parent = nodes.container()
            lines = statemachine.StringList(describe_policy_types())
            self.state.nested_parse(lines, 0, parent)
            return parent.children

    app.add_directive('policy-types', PolicyTypes)
