# SPDX-License-Identifier: Apache-2.0
"""Path names of this group's parts and of other groups' members."""

from collections.abc import Iterable
import re

from nova_groupext.solver.aliases import Path

# Prefix of path names in other groups; names cannot contain a slash.
OUTSIDE = '/'

_NUMBER = re.compile(r'-\d+\Z')
# Nine digits are enough, and fewer than int() refuses.
_INDEXED = re.compile(r'(.+)-(0|[1-9][0-9]{0,8})', re.DOTALL)
# A successor's path name ends with the id of its server.
_SUCCESSOR = re.compile(r'(.+)\+[0-9a-f]{32}', re.DOTALL)


def join(*parts: Path) -> Path:
    """Join the parts that are not empty into a path name."""
    return '/'.join(part for part in parts if part)


def parent(path: Path) -> Path:
    """Return the path name of the subgroup around a path, '' for the group."""
    return path.rpartition('/')[0]


def with_ancestors(path_names: Iterable[Path]) -> set[Path]:
    """Return some path names and those of the subgroups around them.

    The whole group is none of these.
    """
    found: set[Path] = set()
    for path in path_names:
        while path and path not in found:
            found.add(path)
            path = parent(path)
    return found


def split_index(path: Path) -> tuple[Path, int]:
    """Split ``worker-12`` into ``worker`` and 12; -1 for other paths."""
    found = _INDEXED.fullmatch(path)
    return (found[1], int(found[2])) if found else (path, -1)


def successor(path: Path, server: str) -> Path:
    """Return the path name of the successor of a member, or of any of a set.

    :param path: of the member or member set
    :param server: uuid of the successor server
    """
    return f'{path}+{server.replace("-", "")}'


def succeeded(path: Path) -> Path | None:
    """Return the path that a successor's begins with; None for others."""
    found = _SUCCESSOR.fullmatch(path)
    return found[1] if found else None


def outside(group: str, path: Path) -> Path:
    """Return the path name of a part of another group.

    :param group: id of that group
    :param path: path within that group, '' for the whole group
    """
    return OUTSIDE + join(group, path)


def is_in_subtree(path: Path, subtree: Path) -> bool:
    """Check whether a path is in a subtree, '' for the whole group."""
    return not subtree or f'{path}/'.startswith(f'{subtree}/')


def outer_paths(path: Path) -> set[Path]:
    """Return the paths of the parts that contain a part; see is_within()."""
    stem = _NUMBER.sub('', path)
    return with_ancestors([parent(path)]) | ({stem} - {path})


def is_within(path: Path, outer: Path) -> bool:
    """Check whether a path is `outer`, below it, or like ``outer-3``."""
    return outer in (path, _NUMBER.sub('', path)) or path.startswith(
        f'{outer}/'
    )
