# SPDX-License-Identifier: Apache-2.0
"""Sizes, colours and labels of all pictures of groups and plans."""

import re
import string

#: Maximum width of a row of frames, and width of a host, in pixels.
WIDTH = 1_400
HOST_WIDTH = 150

# Light enough for black text.
COLOURS = (
    '#8ecae6',
    '#ffb703',
    '#b7e4c7',
    '#f4acb7',
    '#cdb4db',
    '#e9c46a',
    '#a3b18a',
    '#d6ccc2',
)

#: Classes of frames, members, text, and of colours: ``c0``, ``c1``...
CSS = (
    'text{font:10px sans-serif;fill:#111}'
    '.head{font-size:13px}.label{font-weight:bold}.small{font-size:9px}'
    '.page{fill:#fff}.outer>rect{fill:#f6f6f6;stroke:#555}'
    '.inner>rect{fill:#fff;stroke:#999}'
    '.host>rect,.shared>rect{fill:#fcfcfc;stroke:#222}'
    '.shared>rect{stroke-dasharray:3 2}'
    '.cell>rect{fill:#e4e4e4;stroke:#888}'
    '.free{fill:#eee}.taken{fill:#b9c6d2}'
    '.cell text,.member text,.pinned text{text-anchor:middle}'
    '.member>rect{stroke:#444}.pinned>rect{stroke:#000;stroke-width:3}'
    + ''.join(f'.c{n}>rect{{fill:{c}}}' for n, c in enumerate(COLOURS))
)


def colour(number: int) -> str:
    """Return the CSS class for the colour of the member set ``number``."""
    return f'c{number % len(COLOURS)}'


def letters(number: int) -> str:
    """Return the label of a number from 0: A, B, ... Z, AA, AB, ..."""
    text = ''
    number += 1
    while number:
        number, last = divmod(number - 1, len(string.ascii_uppercase))
        text = string.ascii_uppercase[last] + text
    return text


def natural(name: str | None) -> tuple[bool, list[int | str]]:
    """Return a sort key that puts r2 before r10, and None last."""
    if name is None:
        return True, []
    parts = re.split('([0-9]+)', name)
    return False, [int(p) if n % 2 else p for n, p in enumerate(parts)]
