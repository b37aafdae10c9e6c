# SPDX-License-Identifier: Apache-2.0
"""Mapping of the API's error messages to lines of the user's file."""

from collections.abc import Mapping
import re

from nova_groupext_client.template import errors
from nova_groupext_client.template import nodes

# An error message begins with a JSON path. Keys that are not words are quoted.
_STEP = r'\.[\w-]+|\[[0-9]+\]|\["(?:[^"\\]|\\.)*"\]'
_PATH_AND_REASON = re.compile(rf'(\$\.vrt_group(?:{_STEP})*): (.*)', re.DOTALL)


class LocatedFile:
    """A file of the user whose content is a request or a part of one.

    :param nodes_by_path: by JSON path in the request
    :param root_path: JSON path of the root of the file
    """

    def __init__(
        self, nodes_by_path: Mapping[str, nodes.Node], root_path: str
    ) -> None:
        self._nodes_by_path = nodes_by_path
        self._root_path = root_path

    def locate_error(self, message: str) -> errors.TemplateError | None:
        """Return the TemplateError for an error message of the API.

        :param message: text of a 400, ``$.vrt_group.topology.members...: ...``
        :returns: None if the message is not about the file
        """
        match = _PATH_AND_REASON.search(message)
        if match is None or not match[1].startswith(self._root_path):
            return None
        path, reason = match.groups()
        while path not in self._nodes_by_path:
            # Continue with the parent.
            end = max(path.rfind('.'), path.rfind('['))
            is_below = end > len(self._root_path)
            path = path[:end] if is_below else self._root_path
        return self._nodes_by_path[path].error(reason)
