# SPDX-License-Identifier: Apache-2.0
"""Mapping of the API's error messages to lines of the user's file."""

import re

# An error message begins with a JSON path. Keys that are not words are quoted.
_STEP = r'\.[\w-]+|\[[0-9]+\]|\["(?:[^"\\]|\\.)*"\]'
_PLACE = re.compile(rf'(\$\.vrt_group(?:{_STEP})*): (.*)', re.DOTALL)


def located(answer, places, top):
    """Return the TemplateError for an error message of the API.

    :param answer: text of a 400, ``$.vrt_group.topology.members...: ...``
    :param places: {JSON path: Node}
    :param top: JSON path of the root of the file
    :returns: TemplateError, None if the message has no path below ``top``
    """
    found = _PLACE.search(answer)
    if found is None or not found[1].startswith(top):
        return None
    path, reason = found.groups()
    while path not in places:
        # Continue with the parent.
        cut = max(path.rfind('.'), path.rfind('['))
        path = path[:cut] if cut > len(top) else top
    return places[path].error(reason)
