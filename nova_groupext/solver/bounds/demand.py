# SPDX-License-Identifier: Apache-2.0
"""Demand: the members to place, and the part that each policy covers."""

import collections
import dataclasses

import numpy as np

from nova_groupext.solver.language import topology
from nova_groupext.solver.model import assumptions
from nova_groupext.solver.model import problems


@dataclasses.dataclass
class Demand:
    """Unpinned members of one member set, and the hosts they may use.

    :ivar stem: the member set
    :ivar classes: classes of the members
    :ivar size: number of members
    :ivar missing: number of members that a plan has to place
    :ivar fits: by host: members that fit if alone, 0 on excluded hosts
    :ivar most: by host: upper bound on members of this demand
    :ivar why: assumptions that reduce `fits` or `most`
    :ivar is_narrowed: hosts were excluded
    """

    stem: topology.Stem
    classes: tuple[problems.MemberClass, ...]
    size: int
    missing: int
    fits: np.ndarray
    most: np.ndarray
    why: frozenset = frozenset()
    is_narrowed: bool = False

    def rule_out(self, may, why):
        """Exclude all hosts but some.

        :param may: bool array, by host: the hosts that stay
        """
        if self.fits[~may].any():
            self.fits = np.where(may, self.fits, 0)
            self.most = np.where(may, self.most, 0)
            self.why |= why
            self.is_narrowed = True

    def limit(self, most, why):
        """Lower the upper bound on members of each host.

        :param most: int array, by host
        """
        if (self.most > most).any():
            self.most = np.minimum(self.most, most)
            self.why |= why


@dataclasses.dataclass(frozen=True)
class Coverage:
    """Members that a strict policy, or one end of it, covers.

    :ivar paths: paths of all covered members
    :ivar crowds: stem path -> number of covered unpinned members
    :ivar missing: stem path -> number of these that a plan has to place
    :ivar whole: paths of the stems with every unpinned member covered
    :ivar pins: host numbers of the covered pinned members
    """

    paths: frozenset
    crowds: dict
    missing: dict
    whole: frozenset
    pins: np.ndarray

    @property
    def is_needed(self):
        """True if every plan places a covered member."""
        return len(self.pins) > 0 or any(self.missing.values())


def gather(problem, cloud):
    """Return {stem path: Demand} of the stems with unpinned members."""
    found = {}
    for stem in problem.topology.stems:
        free = [m for m in stem.members if m.path not in problem.pinned]
        if free:
            names = sorted({member.spec['class'] for member in free}, key=str)
            classes = tuple(problem.classes[name] for name in names)
            fits = np.max([cloud.fits(each) for each in classes], axis=0)
            found[stem.path] = Demand(
                stem,
                classes,
                len(free),
                assumptions.required(problem, stem),
                fits,
                fits,
            )
    return found


class Covers:
    """Factory for the Coverage of a problem's policies."""

    def __init__(self, problem, cloud, crowds):
        self._problem = problem
        self._cloud = cloud
        self._crowds = crowds
        self._stems = {stem.path: stem for stem in problem.topology.stems}
        self._stem_of = {m.path: m.stem for m in problem.topology.members}

    def of(self, paths):
        """Return the Coverage of some members."""
        pinned = self._problem.pinned
        inside = collections.Counter(self._stem_of[path] for path in paths)
        pins = [path for path in paths if path in pinned]
        fixed = collections.Counter(self._stem_of[path] for path in pins)
        crowds = {s: n - fixed[s] for s, n in inside.items() if n > fixed[s]}
        return Coverage(
            paths=frozenset(paths),
            crowds=crowds,
            missing={s: self._missing(s, inside[s], fixed[s]) for s in crowds},
            whole=frozenset(
                s for s, n in crowds.items() if n == self._crowds[s].size
            ),
            pins=np.array(
                [self._cloud.index[pinned[path]] for path in pins], np.int64
            ),
        )

    def _missing(self, path, inside, fixed):
        """Return the least number of unpinned covered members in a plan."""
        stem = self._stems[path]
        return max(0, stem.min_count - (stem.count - inside) - fixed)
