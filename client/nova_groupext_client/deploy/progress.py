# SPDX-License-Identifier: Apache-2.0
"""Progress bars, one for each state that members are in."""

from collections.abc import Iterable
from collections.abc import Mapping
import shutil
import typing

from nova_groupext_client.deploy import member_states

_LABEL = max(map(len, member_states.State))
_MAX_BAR_WIDTH = 40
_MOVE_UP = '\x1b[{}A\x1b[J'


class Bars:
    """Progress bars, redrawn in a terminal; elsewhere a line per change."""

    def __init__(self, stream: typing.TextIO) -> None:
        self._stream = stream
        self._drawn_counts: dict[member_states.State, int] | None = None
        self._height = 0

    def show(self, members: Iterable[member_states.Member]) -> None:
        """Draw the states of all members if their counts have changed."""
        counts = member_states.counts(members)
        if counts == self._drawn_counts:
            return
        self._drawn_counts = counts
        if self._stream.isatty():
            self._draw(counts)
        else:
            parts = [f'{number} {state}' for state, number in counts.items()]
            self._stream.write(f'{", ".join(parts)}\n')
        self._stream.flush()

    def _draw(self, counts: Mapping[member_states.State, int]) -> None:
        if self._height:
            self._stream.write(_MOVE_UP.format(self._height))
        width = shutil.get_terminal_size().columns
        self._stream.writelines(bars(counts, width))
        self._height = len(counts)


def bars(counts: Mapping[member_states.State, int], width: int) -> list[str]:
    """Return a line for each state.

    :param counts: numbers of members
    :param width: width of a line in characters
    """
    total = sum(counts.values())
    digits = len(str(total))
    available = width - _LABEL - 2 * digits - len(' [] /') - 1
    bar_width = max(1, min(available, _MAX_BAR_WIDTH))
    return [
        f'{state:{_LABEL}} [{_bar(number, total, bar_width)}] '
        f'{number:{digits}}/{total}\n'
        for state, number in counts.items()
    ]


def _bar(number: int, total: int, width: int) -> str:
    """Return a bar with at least one filled character."""
    filled = max(1, number * width // total)
    return f'{"#" * filled:{width}}'
