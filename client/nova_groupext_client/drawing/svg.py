# SPDX-License-Identifier: Apache-2.0
"""SVG blocks of known size, and their layout in rows and frames."""

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import re

_GAP = 6
_LABEL = 18
# Upper estimate of a character's width in pixels, by class of text.
_CHARACTERS = {'head': 7.5, 'label': 7, 'text': 6, 'small': 5.5}

# Characters that XML 1.0 does not allow.
_INVALID_IN_XML = re.compile(
    '[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]'
)
_ESCAPES = str.maketrans(
    {'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;'}
)


@dataclasses.dataclass(frozen=True)
class Block:
    """A drawing with its upper left corner at the origin.

    :ivar width: pixels
    :ivar height: pixels
    :ivar code: SVG elements
    """

    width: float
    height: float
    code: str


def escape(content: str) -> str:
    """Return text for XML; U+FFFD replaces characters it does not allow."""
    return _INVALID_IN_XML.sub('\ufffd', content).translate(_ESCAPES)


def page(block: Block, title: str, style: str) -> str:
    """Return a complete SVG file.

    :param title: text for screen readers
    :param style: CSS
    """
    width, height = block.width + 2 * _GAP, block.height + 2 * _GAP
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}">\n'
        f'<title>{escape(title)}</title>\n<style>{style}</style>\n'
        f'<rect class="page" width="{width:g}" height="{height:g}"/>\n'
        f'{_at(_GAP, _GAP, block)}\n</svg>\n'
    )


def line(
    content: str, kind: str = 'text', max_width: float | None = None
) -> Block:
    """Return a line of text, shortened with an ellipsis if too long.

    :param kind: CSS class
    :param max_width: maximum width in pixels, None for no limit
    """
    width = _CHARACTERS[kind]
    if max_width is not None and len(content) * width > max_width:
        content = f'{content[: max(0, int(max_width / width) - 1)]}\u2026'
    return Block(
        len(content) * width,
        _LABEL,
        f'<text class="{kind}" y="13">{escape(content)}</text>',
    )


def box(
    width: float, height: float, kind: str, tip: str, label: str = ''
) -> Block:
    """Return a rectangle with a tooltip and perhaps a label."""
    text = f'<text x="{width / 2:g}" y="{height / 2 + 4:g}">{escape(label)}'
    return Block(
        width,
        height,
        f'<g class="{kind}"><title>{escape(tip)}</title>'
        f'<rect width="{width:g}" height="{height:g}"/>'
        f'{text + "</text>" if label else ""}</g>',
    )


def bar(
    width: float, height: float, amount: float, total: float, label: str
) -> Block:
    """Return a bar filled to ``amount`` of ``total``, with a label."""
    filled_width = width * min(1.0, amount / total) if total else width
    text = line(f'{label} {amount} of {total}', 'small', width - 4)
    return Block(
        width,
        height,
        f'<rect class="free" width="{width:g}" height="{height:g}"/>'
        f'<rect class="taken" width="{filled_width:g}" height="{height:g}"/>'
        f'{_at(3, -3, text)}',
    )


def rows(blocks: Iterable[Block], width: float, gap: float = _GAP) -> Block:
    """Return blocks side by side, in rows of at most ``width`` pixels."""
    positioned: list[str] = []
    x = y = height = widest = 0.0
    for block in blocks:
        if x and x + block.width > width:
            x, y, height = 0, y + height + gap, 0
        positioned.append(_at(x, y, block))
        widest = max(widest, x + block.width)
        x += block.width + gap
        height = max(height, block.height)
    return Block(widest, y + height, ''.join(positioned))


def column(blocks: Sequence[Block], gap: float = _GAP) -> Block:
    """Return blocks below one another."""
    positioned: list[str] = []
    y = 0.0
    for block in blocks:
        positioned.append(_at(0, y, block))
        y += block.height + gap
    widest = max((block.width for block in blocks), default=0)
    return Block(widest, max(0, y - gap), ''.join(positioned))


def frame(block: Block, label: str, kind: str, tip: str) -> Block:
    """Return a block in a frame with a tooltip and a label on top."""
    width, height = block.width + 2 * _GAP, block.height + _LABEL + 2 * _GAP
    return Block(
        width,
        height,
        f'<g class="{kind}"><title>{escape(tip)}</title>'
        f'<rect width="{width:g}" height="{height:g}"/></g>'
        f'{_at(_GAP, 2, line(label, "label", block.width))}'
        f'{_at(_GAP, _LABEL + _GAP, block)}',
    )


def _at(x: float, y: float, block: Block) -> str:
    return f'<g transform="translate({x:g} {y:g})">{block.code}</g>\n'
