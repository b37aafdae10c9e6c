# SPDX-License-Identifier: Apache-2.0
"""Evaluation of the intrinsic functions of Heat that need no cloud.

A mapping with the name of a function as its only key is a call of it. Errors
in the value of a call have the position of the call.
"""

import difflib
import functools

from nova_groupext_client import api_types
from nova_groupext_client.template import conditions as condition_sets
from nova_groupext_client.template import errors
from nova_groupext_client.template import intrinsics
from nova_groupext_client.template import nodes
from nova_groupext_client.template import scopes

# The only function that evaluates just one of its arguments.
_IF = 'if'
# Functions whose values exist only after Heat creates resources.
_NEED_RESOURCES = ('get_attr', 'get_resource', 'resource_facade')
# difflib's similarity from which a name counts as a misspelt function: where
# only a call is valid, and where any mapping is.
_SIMILAR = 0.6
_VERY_SIMILAR = 0.8
_ONLY_IN_HEAT = (
    'digest',
    'filter',
    'make_url',
    'map_replace',
    'repeat',
    'str_replace_vstrict',
    'str_split',
    'yaql',
)


def resolve(node: nodes.Node, scope: scopes.Scope) -> nodes.Node:
    """Return a Node like ``node``, with values in place of calls.

    :raises: TemplateError
    """
    scope.spend(1, node)
    if isinstance(node.value, list):
        kept = [each for each in node.value if not _is_omitted(each, scope)]
        return _with_value(node, [resolve(each, scope) for each in kept])
    if not isinstance(node.value, dict):
        return node
    if len(node.value) == 1:
        [(name, argument)] = node.value.items()
        if name == _IF:
            return _if(argument, scope)
        if name in intrinsics.FUNCTIONS:
            function = intrinsics.FUNCTIONS[name]
            value = function(resolve(argument, scope), scope)
            return make_node(node, value, scope)
        _check_no_call(name, argument, scope)
    return _with_value(
        node,
        {
            key: resolve(each, scope)
            for key, each in node.value.items()
            if not _is_omitted(each, scope)
        },
    )


def _check_no_call(
    name: str, argument: nodes.Node, scope: scopes.Scope
) -> None:
    """Raise TemplateError for a function that cannot be called here."""
    if name in _NEED_RESOURCES:
        raise scope.needs_heat_error(argument, intrinsics.UNKNOWN_YET)
    if name in condition_sets.NAMES:
        raise argument.error('is a function that only conditions can call')
    if name in _ONLY_IN_HEAT:
        reason = 'is a function that only Heat has'
        raise scope.needs_heat_error(argument, reason)
    if name not in _NAMES and _most_similar(
        name, _DISTINCTIVE_NAMES, _VERY_SIMILAR
    ):
        raise no_function(argument, name)


def condition_is_true(condition: nodes.Node, scope: scopes.Scope) -> bool:
    """Check whether the condition of an ``if`` or a resource holds."""
    if scope.conditions.is_evaluating:
        raise condition.error(
            'belongs to an "if", which a condition cannot contain'
        )
    scope.spend(1, condition)
    return scope.conditions.is_true(
        condition, lambda node: resolve(node, scope)
    )


def _if(node: nodes.Node, scope: scopes.Scope) -> nodes.Node:
    """Return the value of ``[condition, value, optional alternative]``."""
    parts = node.sequence()
    if len(parts) not in (2, 3):
        raise node.error('must be a list: a condition, and one or two values')
    condition, *values = parts
    if condition_is_true(condition, scope):
        return resolve(values[0], scope)
    return resolve(values[1], scope) if values[1:] else _with_value(node, None)


def _is_omitted(node: nodes.Node, scope: scopes.Scope) -> bool:
    """Check for an ``if`` without alternative whose condition is false."""
    if not isinstance(node.value, dict) or [*node.value] != [_IF]:
        return False
    parts = node.value[_IF].value
    return (
        isinstance(parts, list)
        and len(parts) == 2
        and not condition_is_true(parts[0], scope)
    )


def make_node(
    node: nodes.Node, value: api_types.Json, scope: scopes.Scope
) -> nodes.Node:
    """Return a plain value as a Node with the position of ``node``."""
    scope.spend(scopes.size(value) if isinstance(value, str) else 1, node)
    if isinstance(value, dict):
        return node.of_value(
            {k: make_node(node.child(k), v, scope) for k, v in value.items()}
        )
    if isinstance(value, list):
        return node.of_value(
            [make_node(node.child(i), v, scope) for i, v in enumerate(value)]
        )
    return node.of_value(value)


def is_call(node: nodes.Node) -> bool:
    """Check whether a mapping has the name of a Heat function as a key."""
    return isinstance(node.value, dict) and any(
        name in node.value for name in _NAMES
    )


def no_function(argument: nodes.Node, name: str) -> errors.TemplateError:
    """Return the TemplateError for a call of an unknown function."""
    similar = _most_similar(name, _NAMES, _SIMILAR)
    question = f'; did you mean {similar}?' if similar else ''
    return argument.error(f'is not a function{question}')


@functools.lru_cache
def _most_similar(
    name: str, names: tuple[str, ...], cutoff: float
) -> str | None:
    """Return the most similar of some names, or None."""
    matches = difflib.get_close_matches(name, names, n=1, cutoff=cutoff)
    return matches[0] if matches else None


def _with_value(node: nodes.Node, value: nodes.Value) -> nodes.Node:
    return nodes.Node(value, node.line, node.column, node.path, node.source)


_NAMES = (
    *intrinsics.FUNCTIONS,
    _IF,
    *condition_sets.NAMES,
    *_NEED_RESOURCES,
    *_ONLY_IN_HEAT,
)
# Other names, such as "filter", may resemble keys that are no mistake.
_DISTINCTIVE_NAMES = tuple(name for name in _NAMES if '_' in name)


def text_of(node: nodes.Node) -> str:
    """Return a value as text.

    A function may return a mapping or a list. One in the template itself is
    an error, most likely a misspelt call.
    """
    if node.source is None or not isinstance(node.value, dict | list):
        return intrinsics.to_text(node)
    if isinstance(node.value, dict) and len(node.value) == 1:
        [(name, argument)] = node.value.items()
        raise no_function(argument, name)
    raise node.error('must be a string')
