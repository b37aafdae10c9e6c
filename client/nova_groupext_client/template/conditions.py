# SPDX-License-Identifier: Apache-2.0
"""Evaluation of Heat's conditions, which depend on parameters alone."""

from collections.abc import Callable
import json
import typing

from nova_groupext_client.template import nodes

#: Function that returns a Node with values in place of calls.
Resolve: typing.TypeAlias = Callable[[nodes.Node], nodes.Node]

#: Maximum depth of conditions that contain or name one another.
MAX_DEPTH = 64

_EXPECTED = (
    'must be true or false, the name of a condition, or one of equals, not, '
    'and, or, contains'
)


class Conditions:
    """The conditions of a template, by name."""

    def __init__(self, entries: dict[str, nodes.Node]) -> None:
        self._entries = entries
        self._values: dict[str, bool] = {}
        # Names of the conditions under evaluation, and its depth.
        self._evaluating: list[str] = []
        self._depth = 0

    @property
    def is_evaluating(self) -> bool:
        """True while a condition is under evaluation."""
        return self._depth > 0

    def is_true(self, node: nodes.Node, resolve: Resolve) -> bool:
        """Return the value of a condition.

        :raises: TemplateError
        """
        if self._depth == MAX_DEPTH:
            raise node.error(f'is more than {MAX_DEPTH} conditions deep')
        self._depth += 1
        try:
            return self._evaluate(node, resolve)
        finally:
            self._depth -= 1

    def _evaluate(self, node: nodes.Node, resolve: Resolve) -> bool:
        value = node.value
        if isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._evaluate_named(node, value, resolve)
        if isinstance(value, dict) and len(value) == 1:
            [(name, argument)] = value.items()
            if name in _FUNCTIONS:
                return _FUNCTIONS[name](self, argument, resolve)
            resolved = resolve(node)
            if isinstance(resolved.value, bool):
                return resolved.value
        raise node.error(_EXPECTED)

    def _evaluate_named(
        self, node: nodes.Node, name: str, resolve: Resolve
    ) -> bool:
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

    def _equals(self, node: nodes.Node, resolve: Resolve) -> bool:
        first, second = _two(resolve(node))
        return first.plain() == second.plain()

    def _contains(self, node: nodes.Node, resolve: Resolve) -> bool:
        value, values = _two(resolve(node))
        return value.plain() in [each.plain() for each in values.sequence()]

    def _not(self, node: nodes.Node, resolve: Resolve) -> bool:
        return not self.is_true(node, resolve)

    def _and(self, node: nodes.Node, resolve: Resolve) -> bool:
        return all(self._all_values(node, resolve))

    def _or(self, node: nodes.Node, resolve: Resolve) -> bool:
        return any(self._all_values(node, resolve))

    def _all_values(self, node: nodes.Node, resolve: Resolve) -> list[bool]:
        """Return all values, so that an error in any condition is raised."""
        conditions = node.sequence()
        if len(conditions) < 2:
            raise node.error('must be a list of at least two conditions')
        return [self.is_true(each, resolve) for each in conditions]


_FUNCTIONS = {
    'and': Conditions._and,
    'contains': Conditions._contains,
    'equals': Conditions._equals,
    'not': Conditions._not,
    'or': Conditions._or,
}
#: Names of the functions that only conditions may call.
NAMES = tuple(_FUNCTIONS)


def _two(node: nodes.Node) -> tuple[nodes.Node, nodes.Node]:
    values = node.sequence()
    if len(values) != 2:
        raise node.error('must be a list of two values')
    return values[0], values[1]
