# SPDX-License-Identifier: Apache-2.0
"""Path names of this group's parts and of other groups' members."""

import re

# Prefix of path names in other groups; names cannot contain a slash.
OUTSIDE = '/'

_NUMBER = re.compile(r'-\d+\Z')


def join(*parts):
    """Join the parts that are not empty into a path name."""
    return '/'.join(part for part in parts if part)


def outside(group, path):
    """Return the path name of a part of another group.

    :param group: id of that group
    :param path: path within that group, '' for the whole group
    """
    return OUTSIDE + join(group, path)


def is_within(path, outer):
    """Check whether a path is `outer`, below it, or like ``outer-3``."""
    return outer in (path, _NUMBER.sub('', path)) or path.startswith(
        f'{outer}/'
    )
