# SPDX-License-Identifier: Apache-2.0
"""Table of what was measured."""

import collections
import statistics
from typing import NamedTuple


class Row(NamedTuple):
    """One operation at one size.

    :ivar ratio: of the seconds to those of what Nova does alone, as a text
    :ivar memory: MiB
    """

    hosts: int
    operation: str
    seconds: float
    ratio: str
    memory: float
    ours: int
    nova: int
    http: int


def rows(size, found):
    """Yield the Rows of one cloud.

    :param found: result of measures.measure()
    """
    seconds = {
        name: statistics.median(each.seconds for each in runs)
        for name, (runs, _other) in found.items()
    }
    for name, (runs, other) in found.items():
        ratio = f'{seconds[name] / seconds[other]:.2f}' if other else ''
        last = runs[-1]
        yield Row(
            *(size, name, seconds[name], ratio),
            max(each.memory for each in runs),
            *(last.ours.total(), last.nova.total(), last.http),
        )


def table(measured):
    """Return a list-table of some Rows."""
    sizes = sorted({row.hosts for row in measured})
    of_operation = collections.defaultdict(dict)
    for row in measured:
        of_operation[row.operation][row.hosts] = row
    head = ('operation', *(f'{size:,} hosts' for size in sizes), 'MiB')
    lines = ['.. list-table::', '   :header-rows: 1', '']
    for cells in (
        (*head, 'SQL ours, Nova', 'HTTP'),
        *(
            (
                operation,
                *(_cell(by_size.get(size)) for size in sizes),
                f'{max(0, by_size[sizes[-1]].memory):.0f}',
                f'{by_size[sizes[-1]].ours}, {by_size[sizes[-1]].nova}',
                f'{by_size[sizes[-1]].http}',
            )
            for operation, by_size in of_operation.items()
        ),
    ):
        first, *others = cells
        lines.append(f'   * - {first}')
        lines += [f'     - {cell}' for cell in others]
    return '\n'.join(lines) + '\n'


def _cell(row):
    if row is None:
        return 'not measured'
    ratio = f' ({row.ratio})' if row.ratio else ''
    return f'{row.seconds:.2g}{ratio}'
