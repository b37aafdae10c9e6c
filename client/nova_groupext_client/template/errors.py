# SPDX-License-Identifier: Apache-2.0
"""The one error of the template language."""

#: The way out, where only the creation of servers needs Heat.
HEAT_CREATES = (
    'to have Heat create the servers, hold the group with "openstack vrt '
    'group create --template FILE --wait", and make the stack of what '
    '"openstack vrt deploy FILE --emit-heat GROUP" writes'
)


class TemplateError(Exception):
    """A template that cannot be used, and where in it.

    :ivar line: 1-based
    :ivar column: 1-based
    :ivar path: of the value, ``$.resources.web.properties.flavor``
    :ivar reason: why, as half a sentence that goes on after the path
    """

    def __init__(self, reason, line=1, column=1, path='$'):
        super().__init__(f'line {line}, column {column}: {path}: {reason}')
        self.reason = reason
        self.line = line
        self.column = column
        self.path = path
