# SPDX-License-Identifier: Apache-2.0
"""Ends of a relationship: parts of this group and of other groups."""

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import itertools
from typing import Any
from typing import NamedTuple

from nova_groupext.solver.aliases import Path
from nova_groupext.solver.language import paths
from nova_groupext.solver.language import schemas
from nova_groupext.solver.language import validation


@dataclasses.dataclass(frozen=True)
class OuterPart:
    """Part of a relationship that belongs to another group.

    :ivar group: id of that group
    :ivar path: path of a subgroup, a member, or the member set of a counted
        member in that group; '' for the whole group
    :ivar where: JSON path of its description
    """

    group: str
    path: Path
    where: str

    @property
    def outside_path(self) -> Path:
        """Path name with the id of the group, as outsiders have it."""
        return paths.outside(self.group, self.path)

    def select(self, outsiders: Collection[Path]) -> tuple[Path, ...]:
        """Return those outsiders that it contains."""
        if self.outside_path in outsiders:
            # A single member: no members of a set are called ``name-3``.
            return (self.outside_path,)
        return tuple(
            path
            for path in outsiders
            if paths.is_within(path, self.outside_path)
        )


class Parts(NamedTuple):
    """Parts of a relationship: paths in this group, and other groups."""

    inner: list[Path]
    outer: list[OuterPart]


def read(
    between: list[Any],
    node: Path,
    where: str,
    members_at: Callable[[Path], tuple[Path, ...]],
    is_known: Callable[[Path], bool],
) -> Parts:
    """Parse the parts of a relationship.

    :param node: path of the node with the relationship
    :param where: JSON path of ``between``
    :param members_at: returns the members at a path
    :param is_known: tells whether a path has, or may get, members
    :raises InvalidInput: with path and reason
    """
    inner: list[Path] = []
    outer: list[OuterPart] = []
    for number, part in enumerate(between):
        part_at = validation.json_path(where, number)
        if isinstance(part, dict):
            validation.check(part, schemas.OUTER_PART, part_at)
            path = part.get('path', '')
            outer.append(OuterPart(part['group'], path, part_at))
        else:
            validation.check(part, schemas.PART, part_at)
            inner.append(paths.join(node, part))
            if not is_known(inner[-1]):
                raise validation.InvalidInput(part_at, 'matches no member')
    if not inner:
        raise validation.InvalidInput(where, 'needs a part of this group')
    shared = _shared(map(members_at, inner)) or _overlapping(outer)
    if shared:
        raise validation.InvalidInput(
            where, f'has {validation.quote(shared)} in more than one part'
        )
    return Parts(inner, outer)


def _shared(sides: Iterable[tuple[Path, ...]]) -> Path | None:
    """Return the first member path of two parts, None without one."""
    counts = collections.Counter(itertools.chain(*sides))
    return min((path for path, n in counts.items() if n > 1), default=None)


def _overlapping(outer: Sequence[OuterPart]) -> Path | None:
    """Return the first part within another one, judged by its name."""
    counts = collections.Counter(part.outside_path for part in outer)
    return min(
        (
            paths.join(part.group, part.path)
            for part in outer
            if counts[part.outside_path] > 1
            or any(
                each in counts for each in paths.outer_paths(part.outside_path)
            )
        ),
        default=None,
    )
