# SPDX-License-Identifier: Apache-2.0
"""SVG picture of a group: zones, racks and hosts with their members."""

import dataclasses

from nova_groupext_client.drawing import places
from nova_groupext_client.drawing import style
from nova_groupext_client.drawing import svg

_HINT = 'Thick line: a server already. Point at anything to learn more.'
_SERVERS = ('ACTIVE', 'REDEEMING')


def write(group):
    """Return the picture of a group.

    :param group: object with the attributes of the SDK's VrtGroup
    :returns: text of an SVG file
    """
    return _Picture(group).page()


class _Picture:
    def __init__(self, group):
        self._group = group
        stems = dict.fromkeys(map(places.stem, group.members))
        self._numbers = {stem: n for n, stem in enumerate(stems)}

    def page(self):
        domains, rest = places.nest(self._group.members)
        title = places.head(self._group)
        head = [svg.line(title, 'head'), svg.line(_HINT, 'head')]
        legend = [self._stem(stem) for stem in self._numbers]
        frames = [self._domain(domain) for domain in domains]
        if rest:
            frames.append(self._frame(rest, 'without a place', 'outer'))
        blocks = [svg.column(head, 0), svg.rows(legend, style.WIDTH)]
        blocks.append(svg.rows(frames, style.WIDTH))
        return svg.page(svg.column(blocks, 12), title, style.CSS)

    def _stem(self, stem):
        """Return the legend entry of one member set."""
        same = [m for m in self._group.members if places.stem(m) == stem]
        chip = self._chip(stem, 'member', '\n'.join(m['path'] for m in same))
        label = f'{stem} ({len(same)})'
        return svg.rows([chip, svg.line(label, room=230)], style.WIDTH)

    def _domain(self, domain):
        if not domain.domains:
            return self._frame(domain.members, domain.label, 'host')
        inside = [self._domain(inner) for inner in domain.domains]
        kind = 'outer' if domain.domains[0].domains else 'inner'
        tip = f'{domain.label}: {len(domain.members)} members'
        block = svg.rows(inside, style.WIDTH)
        return svg.frame(block, domain.label, kind, tip)

    def _frame(self, members, label, kind):
        chips = [self._member(member) for member in members]
        block = svg.rows(chips, style.HOST_WIDTH, 2)
        # All host frames have the same width, which fits the label.
        block = dataclasses.replace(block, width=style.HOST_WIDTH)
        tip = f'{label}: {len(members)} members'
        return svg.frame(block, label, kind, tip)

    def _member(self, member):
        tip = [member['path'], member['status']]
        tip += [f'{k} {v}' for k, v in member['domains'].items()]
        tip += [f'server {member["server_id"]}'] * bool(member['server_id'])
        if member['fault']:
            tip.append(member['fault']['message'])
        kind = 'pinned' if member['status'] in _SERVERS else 'member'
        return self._chip(places.stem(member), kind, '\n'.join(tip))

    def _chip(self, stem, kind, tip):
        number = self._numbers[stem]
        label = style.letters(number)
        kind = f'{kind} {style.colour(number)}'
        return svg.box(8 + 7 * len(label), 16, kind, tip, label)
