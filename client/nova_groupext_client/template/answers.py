# SPDX-License-Identifier: Apache-2.0
"""What an answer of the API is about, as a place in the user's own file."""

import re

# An answer begins with the place it is about: keys that are words, indexes,
# and keys that are quoted since they are none.
_STEP = r'\.[\w-]+|\[[0-9]+\]|\["(?:[^"\\]|\\.)*"\]'
_PLACE = re.compile(rf'(\$\.vrt_group(?:{_STEP})*): (.*)', re.DOTALL)


def located(answer, places, top):
    """Return the TemplateError that an answer stands for.

    :param answer: text of a 400, ``$.vrt_group.topology.members...: ...``
    :param places: {JSON path: Node}
    :param top: JSON path of what contains everything
    :returns: None if it is about no part of that
    """
    found = _PLACE.search(answer)
    if found is None or not found[1].startswith(top):
        return None
    path, reason = found.groups()
    while path not in places:
        # What is next above it.
        cut = max(path.rfind('.'), path.rfind('['))
        path = path[:cut] if cut > len(top) else top
    return places[path].error(reason)
