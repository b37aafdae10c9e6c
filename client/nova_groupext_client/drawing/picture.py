# SPDX-License-Identifier: Apache-2.0
"""SVG picture of a group: zones, racks and hosts with their members."""

from collections.abc import Sequence
import dataclasses

from nova_groupext_client import api_types
from nova_groupext_client.drawing import places
from nova_groupext_client.drawing import style
from nova_groupext_client.drawing import svg

_HINT = 'Thick line: existing server. Point at an item for details.'
_SERVERS = ('ACTIVE', 'REDEEMING')


def write(group: api_types.Group) -> str:
    """Return the picture of a group, the text of an SVG file."""
    return _Picture(group).page()


class _Picture:
    def __init__(self, group: api_types.Group) -> None:
        self._group = group
        member_sets = dict.fromkeys(map(places.member_set, group.members))
        self._numbers = {
            member_set: n for n, member_set in enumerate(member_sets)
        }

    def page(self) -> str:
        domains, without_host = places.nest(self._group.members)
        title = places.summary(self._group)
        head = [svg.line(title, 'head'), svg.line(_HINT, 'head')]
        legend = [self._member_set(member_set) for member_set in self._numbers]
        frames = [self._domain(domain) for domain in domains]
        if without_host:
            frames.append(self._frame(without_host, 'without a host', 'outer'))
        blocks = [svg.column(head, 0), svg.rows(legend, style.WIDTH)]
        blocks.append(svg.rows(frames, style.WIDTH))
        return svg.page(svg.column(blocks, 12), title, style.CSS)

    def _member_set(self, member_set: str) -> svg.Block:
        """Return the legend entry of one member set."""
        members_of_text = [
            m
            for m in self._group.members
            if places.member_set(m) == member_set
        ]
        chip = self._chip(
            member_set, 'member', '\n'.join(m['path'] for m in members_of_text)
        )
        label = f'{member_set} ({len(members_of_text)})'
        return svg.rows([chip, svg.line(label, max_width=230)], style.WIDTH)

    def _domain(self, domain: places.Domain) -> svg.Block:
        if not domain.domains:
            return self._frame(domain.members, domain.label, 'host')
        inside = [self._domain(inner) for inner in domain.domains]
        kind = 'outer' if domain.domains[0].domains else 'inner'
        tip = f'{domain.label}: {len(domain.members)} members'
        block = svg.rows(inside, style.WIDTH)
        return svg.frame(block, domain.label, kind, tip)

    def _frame(
        self, members: Sequence[api_types.Member], label: str, kind: str
    ) -> svg.Block:
        chips = [self._member(member) for member in members]
        block = svg.rows(chips, style.HOST_WIDTH, 2)
        # All host frames have the same width, which fits the label.
        block = dataclasses.replace(block, width=style.HOST_WIDTH)
        tip = f'{label}: {len(members)} members'
        return svg.frame(block, label, kind, tip)

    def _member(self, member: api_types.Member) -> svg.Block:
        tip = [member['path'], member['status']]
        tip += [f'{k} {v}' for k, v in member['domains'].items()]
        tip += [f'server {member["server_id"]}'] * bool(member['server_id'])
        if member['fault']:
            tip.append(member['fault']['message'])
        kind = 'pinned' if member['status'] in _SERVERS else 'member'
        return self._chip(places.member_set(member), kind, '\n'.join(tip))

    def _chip(self, member_set: str, kind: str, tip: str) -> svg.Block:
        number = self._numbers[member_set]
        label = style.letters(number)
        kind = f'{kind} {style.colour(number)}'
        return svg.box(8 + 7 * len(label), 16, kind, tip, label)
