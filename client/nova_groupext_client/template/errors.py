# SPDX-License-Identifier: Apache-2.0
"""The only exception of the template language."""

#: Advice for templates in which only the creation of servers needs Heat.
HEAT_CREATES = (
    'to let Heat create the servers, hold the group with "openstack vrt '
    'group create --template FILE --wait" and create the stack from the '
    'output of "openstack vrt deploy FILE --emit-heat GROUP"'
)


class TemplateError(Exception):
    """An error in a template, with its position.

    :ivar line: 1-based
    :ivar column: 1-based
    :ivar path: JSON path of the value, ``$.resources.web.properties.flavor``
    :ivar reason: predicate of a sentence whose subject is the value
    """

    def __init__(
        self, reason: str, line: int = 1, column: int = 1, path: str = '$'
    ) -> None:
        super().__init__(f'line {line}, column {column}: {path}: {reason}')
        self.reason = reason
        self.line = line
        self.column = column
        self.path = path
