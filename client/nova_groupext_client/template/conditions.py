# SPDX-License-Identifier: Apache-2.0
"""Evaluation of Heat's conditions, which depend on parameters alone."""

import json

#: Maximum depth of conditions that contain or name one another.
MAX_DEPTH = 64

_EXPECTED = (
    'must be true or false, the name of a condition, or one of equals, not, '
    'and, or, contains'
)


class Conditions:
    """The conditions of a template.

    :param entries: {name: Node}
    """

    def __init__(self, entries):
        self._entries = entries
        self._values = {}
        # Names of the conditions under evaluation, and its depth.
        self._evaluating = []
        self._depth = 0

    @property
    def is_evaluating(self):
        """True while a condition is under evaluation."""
        return self._depth > 0

    def is_true(self, node, resolve):
        """Return the value of a condition.

        :param node: Node of the condition
        :param resolve: function that returns a Node with values for calls
        :raises: TemplateError
        """
        if self._depth == MAX_DEPTH:
            raise node.error(f'is more than {MAX_DEPTH} conditions deep')
        self._depth += 1
        try:
            return self._evaluate(node, resolve)
        finally:
            self._depth -= 1

    def _evaluate(self, node, resolve):
        value = node.value
        if isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._evaluate_named(node, resolve)
        if isinstance(value, dict) and len(value) == 1:
            [(name, argument)] = value.items()
            if name in _FUNCTIONS:
                return _FUNCTIONS[name](self, argument, resolve)
            resolved = resolve(node)
            if isinstance(resolved.value, bool):
                return resolved.value
        raise node.error(_EXPECTED)

    def _evaluate_named(self, node, resolve):
        name = node.value
        if name not in self._entries:
            raise node.error(f'names no condition: {json.dumps(name)}')
        if name in self._evaluating:
            raise node.error(f'refers to itself: {json.dumps(name)}')
        if name not in self._values:
            self._evaluating.append(name)
            try:
                self._values[name] = self.is_true(self._entries[name], resolve)
            finally:
                self._evaluating.pop()
        return self._values[name]

    def _equals(self, node, resolve):
        first, second = _two(resolve(node))
        return first.plain() == second.plain()

    def _contains(self, node, resolve):
        value, values = _two(resolve(node))
        return value.plain() in [each.plain() for each in values.sequence()]

    def _not(self, node, resolve):
        return not self.is_true(node, resolve)

    def _and(self, node, resolve):
        return all(self._all_values(node, resolve))

    def _or(self, node, resolve):
        return any(self._all_values(node, resolve))

    def _all_values(self, node, resolve):
        """Return all values, so that an error in any condition is raised."""
        if len(node.sequence()) < 2:
            raise node.error('must be a list of at least two conditions')
        return [self.is_true(each, resolve) for each in node.value]


_FUNCTIONS = {
    'and': Conditions._and,
    'contains': Conditions._contains,
    'equals': Conditions._equals,
    'not': Conditions._not,
    'or': Conditions._or,
}
#: Names of the functions that only conditions may call.
NAMES = tuple(_FUNCTIONS)


def _two(node):
    if len(node.sequence()) != 2:
        raise node.error('must be a list of two values')
    return node.value
