# SPDX-License-Identifier: Apache-2.0
"""SVG picture of an answer: zones, racks, hosts, and their members.

A problem states only the free capacity of a host, so a bar shows the part of
the free amount that the group takes. Letters and colours identify the member
set of a member.
"""

import collections
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import itertools
import math
import textwrap

from nova_groupext.solver.aliases import Amounts
from nova_groupext.solver.aliases import Domain
from nova_groupext.solver.aliases import HostId
from nova_groupext.solver.aliases import Level
from nova_groupext.solver.aliases import Path
from nova_groupext.solver.language import topology
from nova_groupext.solver.model import answers
from nova_groupext.solver.model import problems
from nova_groupext.solver.model import violations
from nova_groupext.solver.solve import summary
from nova_groupext_client.drawing import style
from nova_groupext_client.drawing import svg

_CELL = 10

# In a larger cloud, hosts without members become small cells.
_SMALL_CLOUD = 200
# More members than this on one host are drawn as a number per member set.
_MANY_MEMBERS = 28
_MAX_BARS = 4
_MAX_NAMES = 40


def write(problem: problems.Problem, answer: answers.Answer) -> str:
    """Draw an answer.

    :param answer: without a plan only pinned members are drawn
    :returns: text of an SVG file
    """
    return _Picture(problem, answer).page()


class _Picture:
    def __init__(
        self, problem: problems.Problem, answer: answers.Answer
    ) -> None:
        self.problem = problem
        self.answer = answer
        self.placement = answer.placement or problem.pinned
        self.members = collections.defaultdict[HostId, list[topology.Member]](
            list
        )
        own = {*problem.own_members}
        for member in problem.topology.members:
            if member.path in own and member.path in self.placement:
                self.members[self.placement[member.path]].append(member)
        self.usage = violations.usage(
            problem,
            violations.Plan(answer.placement, answer.alternative),
            (path for path in answer.placement if path in problem.movable),
        )
        self.member_sets = [
            member_set
            for member_set in problem.topology.member_sets
            if member_set.members[0].path in own
        ]
        names = [member_set.path for member_set in self.member_sets]
        self.labels = {
            member_set: style.letters(n) for n, member_set in enumerate(names)
        }
        self.colours = {s: style.colour(n) for n, s in enumerate(names)}

    def page(self) -> str:
        texts = _heading(self.problem, self.answer)
        heading = [svg.line(text, 'head') for text in texts]
        member_sets = self.member_sets
        legend = [
            self._member_set(member_set)
            for member_set in member_sets[:_MAX_NAMES]
        ]
        if len(member_sets) > _MAX_NAMES:
            legend.append(
                svg.line(f'and {len(member_sets) - _MAX_NAMES} more')
            )
        cloud = self._domains(list(self.problem.hosts.values()), self._levels)
        blocks = [svg.column(heading, 0), svg.rows(legend, style.WIDTH), cloud]
        return svg.page(svg.column(blocks, 12), texts[0], style.CSS)

    @property
    def _levels(self) -> list[Level]:
        """Levels drawn as frames: at most two, the outer one first."""
        above_host = self.problem.levels[1:]
        return list(dict.fromkeys([*above_host[-1:], *above_host[:1]]))

    def _member_set(self, member_set: topology.MemberSet) -> svg.Block:
        """Draw a member set's entry in the legend."""
        members = [m for m in member_set.members if m.path in self.placement]
        box = self._member_box(
            member_set.path, members, self.labels[member_set.path]
        )
        label = f'{member_set.path} ({len(members)} of {member_set.count})'
        return svg.rows([box, svg.line(label, max_width=230)], style.WIDTH)

    def _domains(
        self, hosts: Sequence[problems.Host], levels: Sequence[Level]
    ) -> svg.Block:
        """Draw hosts in a frame for each of their domains, level by level."""
        if not levels:
            return self._hosts(hosts)
        level, *inner = levels
        by_name = collections.defaultdict[Domain | None, list[problems.Host]](
            list
        )
        for host in hosts:
            by_name[host.domains.get(level)].append(host)
        frames = []
        for name in sorted(by_name, key=style.natural):
            inside = by_name[name]
            members = sum(len(self.members[host.id]) for host in inside)
            label = f'no {level}' if name is None else f'{level} {name}'
            tooltip = f'{label}: {len(inside)} hosts, {members} members'
            kind = 'outer' if inner else 'inner'
            block = self._domains(inside, inner)
            frame = svg.frame(block, label, kind, tooltip)
            frames.append((not members, frame))
        # Domains that the group uses come first.
        frames.sort(key=lambda f: f[0])
        return svg.rows([frame for _, frame in frames], style.WIDTH)

    def _hosts(self, hosts: Sequence[problems.Host]) -> svg.Block:
        is_small = len(self.problem.hosts) <= _SMALL_CLOUD
        large = [h for h in hosts if is_small or self.members[h.id]]
        small = [h for h in hosts if not (is_small or self.members[h.id])]
        # Make the block about as wide as high.
        columns = math.sqrt(len(large) / 3 + len(small) / 200)
        width = style.HOST_WIDTH * max(1, min(8, round(columns)))
        cells = svg.rows([self._cell(host) for host in small], width, 2)
        boxes = svg.rows([self._host(host) for host in large], width)
        return svg.column([each for each in (boxes, cells) if each.code])

    def _cell(self, host: problems.Host) -> svg.Block:
        dot = '\u00b7' if host.foreign else ''
        return svg.box(_CELL, _CELL, 'cell', _tooltip(host), dot)

    def _host(self, host: problems.Host) -> svg.Block:
        """Draw a host with its load and its members."""
        width = style.HOST_WIDTH - 12
        usage = self._usage(host)
        bars = [
            svg.bar(width, 12, part, host.free[name], name)
            for name, part in list(usage.items())[:_MAX_BARS]
        ]
        members = svg.rows(self._member_boxes(host), width, 2)
        parts = [each for each in [*bars, members] if each.code]
        tooltip = '\n'.join(
            [
                _tooltip(host),
                *(f'group uses {n} {r}' for r, n in usage.items()),
            ]
        )
        kind = 'shared' if host.foreign else 'host'
        inside = svg.column(parts, 3)
        inside = dataclasses.replace(inside, width=width)
        return svg.frame(inside, host.id, kind, tooltip)

    def _usage(self, host: problems.Host) -> Amounts:
        """Return the amounts that the group takes, scarce resources first."""
        usage = +self.usage[host.id]
        by_share = sorted(usage, key=lambda r: -usage[r] / host.free[r])
        return {resource: usage[resource] for resource in by_share}

    def _member_boxes(self, host: problems.Host) -> Iterator[svg.Block]:
        members = self.members[host.id]
        if len(members) <= _MANY_MEMBERS:
            for member in members:
                member_set = member.member_set
                yield self._member_box(
                    member_set, [member], self.labels[member_set]
                )
        else:
            for member_set, group in itertools.groupby(
                members, lambda m: m.member_set
            ):
                same = list(group)
                label = f'{self.labels[member_set]} \u00d7 {len(same)}'
                yield self._member_box(member_set, same, label)

    def _member_box(
        self, member_set: Path, members: Sequence[topology.Member], label: str
    ) -> svg.Block:
        """Draw members of one member set, as a coloured box with a label."""
        names = [member.path for member in members[:_MAX_NAMES]]
        if len(members) > _MAX_NAMES:
            names.append(f'and {len(members) - _MAX_NAMES} more')
        kind = 'member'
        if members and all(m.path in self.problem.pinned for m in members):
            kind = 'pinned'
            names.append('(existing server)')
        kind += f' {self.colours[member_set]}'
        return svg.box(8 + 7 * len(label), 16, kind, '\n'.join(names), label)


def _heading(problem: problems.Problem, answer: answers.Answer) -> list[str]:
    """Return the heading: a summary of the answer, and a legend."""
    lines = summary.write(problem, answer).splitlines()
    heading = textwrap.wrap(lines[0], 160)
    if answer.status == 'placed':
        heading.append(lines[1])
    return [
        *heading,
        'Bar: part of the free amount that the group uses. Broken line or '
        'dot: other servers on this host. Thick line: existing server.',
    ]


def _tooltip(host: problems.Host) -> str:
    """Return the tooltip of a host."""
    lines = [host.id]
    lines += [f'{level} {name}' for level, name in host.domains.items()]
    free = list(host.free.items())
    lines += [f'{amount} {name} free' for name, amount in free[:_MAX_NAMES]]
    if host.foreign:
        lines.append('other servers on this host')
    return '\n'.join(lines)
