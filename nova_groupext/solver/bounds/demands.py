# SPDX-License-Identifier: Apache-2.0
"""Demand: the members to place, and the part that each policy covers."""

import collections
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
from typing import NamedTuple

import numpy as np

from nova_groupext.solver.aliases import Path
from nova_groupext.solver.arrays import Bools
from nova_groupext.solver.arrays import Ints
from nova_groupext.solver.language import topology
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import problems
from nova_groupext.solver.model.host_arrays import HostArrays


@dataclasses.dataclass
class Demand:
    """Unpinned members of one member set, and the hosts they may use.

    :ivar classes: classes of the members
    :ivar size: number of members
    :ivar required: number of members that a plan has to place
    :ivar max_alone: by host: members that fit if alone, 0 if excluded
    :ivar max_members: by host: upper bound on members of this demand
    :ivar assumed: assumptions that reduce the two bounds
    :ivar has_exclusions: hosts were excluded
    """

    member_set: topology.MemberSet
    classes: tuple[problems.MemberClass, ...]
    size: int
    required: int
    max_alone: Ints
    max_members: Ints
    assumed: frozenset[assumptions.Assumption] = frozenset()
    has_exclusions: bool = False

    def exclude_others(
        self, allowed: Bools, assumed: frozenset[assumptions.Assumption]
    ) -> None:
        """Exclude all hosts but the allowed ones.

        :param assumed: assumptions that exclude the other hosts
        """
        if self.max_alone[~allowed].any():
            self.max_alone = np.where(allowed, self.max_alone, 0)
            self.max_members = np.where(allowed, self.max_members, 0)
            self.assumed |= assumed
            self.has_exclusions = True

    def limit_members(
        self, limits: Ints, assumed: frozenset[assumptions.Assumption]
    ) -> None:
        """Lower the upper bound on members of each host.

        :param limits: by host
        :param assumed: assumptions that set the limits
        """
        if (self.max_members > limits).any():
            self.max_members = np.minimum(self.max_members, limits)
            self.assumed |= assumed


class PartialDemand(NamedTuple):
    """Some members of a demand."""

    demand: Demand
    number: int


@dataclasses.dataclass(frozen=True)
class Coverage:
    """Members that a strict policy, or one end of it, covers.

    :ivar paths: all covered members
    :ivar unpinned: number of covered unpinned members by member set
    :ivar required: number of these that a plan has to place
    :ivar complete: member sets with every unpinned member covered
    :ivar pinned_hosts: host numbers of the covered pinned members
    """

    paths: frozenset[Path]
    unpinned: dict[Path, int]
    required: dict[Path, int]
    complete: frozenset[Path]
    pinned_hosts: Ints

    @property
    def is_required(self) -> bool:
        """True if every plan places a covered member."""
        return len(self.pinned_hosts) > 0 or any(self.required.values())


def gather(
    problem: problems.Problem, arrays: HostArrays
) -> dict[Path, Demand]:
    """Return the demands of all member sets with unpinned members."""
    demands = {}
    for member_set in problem.topology.member_sets:
        unpinned = [
            m for m in member_set.members if m.path not in problem.pinned
        ]
        if unpinned:
            names = sorted({m.spec['class'] for m in unpinned}, key=str)
            classes = tuple(problem.classes[name] for name in names)
            max_alone = np.max(
                [arrays.max_members(each) for each in classes], axis=0
            )
            demands[member_set.path] = Demand(
                member_set,
                classes,
                len(unpinned),
                assumptions.count_required(problem, member_set),
                max_alone,
                max_alone,
            )
    return demands


class CoverageFactory:
    """Factory for the Coverage of a problem's policies."""

    def __init__(
        self,
        problem: problems.Problem,
        arrays: HostArrays,
        demands: Mapping[Path, Demand],
    ) -> None:
        self._problem = problem
        self._arrays = arrays
        self._demands = demands
        self._member_sets = {
            member_set.path: member_set
            for member_set in problem.topology.member_sets
        }
        self._member_set_of = {
            m.path: m.member_set for m in problem.topology.members
        }

    def of(self, paths: Collection[Path]) -> Coverage:
        """Return the coverage of some members."""
        hosts = self._problem.pinned
        covered = collections.Counter(
            self._member_set_of[path] for path in paths
        )
        pinned_paths = [path for path in paths if path in hosts]
        pinned = collections.Counter(
            self._member_set_of[path] for path in pinned_paths
        )
        unpinned = {
            s: n - pinned[s] for s, n in covered.items() if n > pinned[s]
        }
        return Coverage(
            paths=frozenset(paths),
            unpinned=unpinned,
            required={
                s: self._required(s, covered[s], pinned[s]) for s in unpinned
            },
            complete=frozenset(
                s for s, n in unpinned.items() if n == self._demands[s].size
            ),
            pinned_hosts=np.array(
                [self._arrays.index[hosts[path]] for path in pinned_paths],
                np.int64,
            ),
        )

    def _required(self, path: Path, covered: int, pinned: int) -> int:
        """Return the least number of unpinned covered members in a plan."""
        member_set = self._member_sets[path]
        return max(
            0, member_set.min_count - (member_set.count - covered) - pinned
        )
