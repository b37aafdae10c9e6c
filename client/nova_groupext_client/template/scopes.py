# SPDX-License-Identifier: Apache-2.0
"""Context in which the functions of a template are evaluated."""

import pathlib

from nova_groupext_client import api_types
from nova_groupext_client.template import conditions as condition_sets
from nova_groupext_client.template import errors
from nova_groupext_client.template import nodes

#: Maximum number of values that one template may make, and the number of
#: characters that count as one value.
MAX_VALUES = 1_000_000
CHARACTERS = 64
#: Parameter with the name of the stack, here of the group.
STACK_NAME = 'OS::stack_name'

_BY_PARAMETER = 'the description of the group needs it: use a parameter'


class Scope:
    """Context of an evaluation: parameters, files, conditions and a budget.

    :ivar values: {parameter: its plain value}
    :ivar folder: folder of the files that ``get_file`` may read, or None
    :ivar conditions: the template's conditions

    :param name: name of the group, the value of ``OS::stack_name``
    """

    def __init__(
        self,
        values: api_types.Object,
        name: str | None,
        folder: str | pathlib.Path | None,
        conditions: condition_sets.Conditions,
    ) -> None:
        self.values: api_types.Object = {**values, STACK_NAME: name}
        self.folder = folder
        self.conditions = conditions
        self._spent = 0
        self._advice = _BY_PARAMETER

    def end_description(self) -> None:
        """Advise the use of Heat in later errors: only creation is left."""
        self._advice = errors.HEAT_CREATES

    def needs_heat_error(
        self, node: nodes.Node, reason: str
    ) -> errors.TemplateError:
        """Return the TemplateError for a value that only Heat can provide."""
        return node.error(f'{reason}; {self._advice}')

    def spend(self, amount: int, node: nodes.Node) -> None:
        """Add to the number of values; raise TemplateError at the limit."""
        self._spent += amount
        if self._spent > MAX_VALUES:
            raise node.error('results in more values than any server needs')


def size(text: str) -> int:
    """Return the number of values that a text counts as."""
    return 1 + len(text) // CHARACTERS
