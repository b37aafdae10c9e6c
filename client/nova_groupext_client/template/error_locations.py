# SPDX-License-Identifier: Apache-2.0
"""Mapping of the API's error messages to lines of the user's file."""

from collections.abc import Mapping
import re

from nova_groupext_client.template import errors
from nova_groupext_client.template import nodes

# An error message begins with a JSON path. Keys that are not words are quoted.
_STEP = r'\.[\w-]+|\[[0-9]+\]|\["(?:[^"\\]|\\.)*"\]'
_PATH_AND_REASON = re.compile(rf'(\$\.vrt_group(?:{_STEP})*): (.*)', re.DOTALL)


def locate_error(
    message: str, nodes_by_path: Mapping[str, nodes.Node], root_path: str
) -> errors.TemplateError | None:
    """Return the TemplateError for an error message of the API.

    :param message: text of a 400, ``$.vrt_group.topology.members...: ...``
    :param nodes_by_path: by JSON path
    :param root_path: JSON path of the root of the file
    :returns: None for a message without such a path
    """
    match = _PATH_AND_REASON.search(message)
    if match is None or not match[1].startswith(root_path):
        return None
    path, reason = match.groups()
    while path not in nodes_by_path:
        # Continue with the parent.
        end = max(path.rfind('.'), path.rfind('['))
        path = path[:end] if end > len(root_path) else root_path
    return nodes_by_path[path].error(reason)
