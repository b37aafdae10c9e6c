# SPDX-License-Identifier: Apache-2.0
"""Who has to come, and what every policy covers of it."""

import collections
import dataclasses

import numpy as np

from nova_groupext.planner import problem as problems
from nova_groupext.planner import tags
from nova_groupext.planner import topology


@dataclasses.dataclass
class Crowd:
    """The unpinned members of a stem.

    :ivar classes: of one or another of them
    :ivar size: how many there are
    :ivar missing: how many of them have to come
    :ivar fits: how many each host has room for, 0 where none can be
    :ivar most: how many of this crowd each host may take
    :ivar why: the tags because of which it is no more
    :ivar is_narrowed: hosts were ruled out
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
        """Leave only some hosts.

        :param may: bool array
        """
        if self.fits[~may].any():
            self.fits = np.where(may, self.fits, 0)
            self.most = np.where(may, self.most, 0)
            self.why |= why
            self.is_narrowed = True

    def limit(self, most, why):
        """Leave only so many to each host.

        :param most: int array
        """
        if (self.most > most).any():
            self.most = np.minimum(self.most, most)
            self.why |= why


@dataclasses.dataclass(frozen=True)
class Cover:
    """What a strict policy, or one end of it, covers.

    :ivar paths: of all covered members
    :ivar crowds: stem path -> how many unpinned members are covered
    :ivar missing: stem path -> how many of these have to come
    :ivar whole: paths of the stems of which every unpinned member is covered
    :ivar pins: numbers of the hosts of covered pinned members
    """

    paths: frozenset
    crowds: dict
    missing: dict
    whole: frozenset
    pins: np.ndarray

    @property
    def is_needed(self):
        """Whether somebody covered will be there."""
        return len(self.pins) > 0 or any(self.missing.values())


def gather(problem, cloud):
    """Stem path -> Crowd, where anybody is unpinned."""
    found = {}
    for stem in problem.topology.stems:
        free = [m for m in stem.members if m.path not in problem.pinned]
        if free:
            names = sorted({member.spec['class'] for member in free}, key=str)
            classes = tuple(problem.classes[name] for name in names)
            fits = np.max([cloud.fits(each) for each in classes], axis=0)
            found[stem.path] = Crowd(
                stem,
                classes,
                len(free),
                tags.missing(problem, stem),
                fits,
                fits,
            )
    return found


class Covers:
    """The Covers of a problem's policies."""

    def __init__(self, problem, cloud, crowds):
        self._problem = problem
        self._cloud = cloud
        self._crowds = crowds
        self._stems = {stem.path: stem for stem in problem.topology.stems}
        self._stem_of = {m.path: m.stem for m in problem.topology.members}

    def of(self, paths):
        """The Cover of some members."""
        pinned = self._problem.pinned
        inside = collections.Counter(self._stem_of[path] for path in paths)
        pins = [path for path in paths if path in pinned]
        fixed = collections.Counter(self._stem_of[path] for path in pins)
        crowds = {s: n - fixed[s] for s, n in inside.items() if n > fixed[s]}
        return Cover(
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
        """How many unpinned covered members have to come at least."""
        stem = self._stems[path]
        return max(0, stem.min_count - (stem.count - inside) - fixed)
