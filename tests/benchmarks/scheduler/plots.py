# SPDX-License-Identifier: Apache-2.0
"""Plots of seconds and memory against hosts, as an SVG file.

``tox -e bench-plots -- JSON SVG`` reads what the benchmark has written with
``--json``. Matplotlib is installed for this alone.
"""

import json
import pathlib
import sys

import matplotlib.figure

TIMED = (
    *('naive look', 'look', 'look again', 'create by stock Nova'),
    *('redeem', 'idle reaper'),
)
SIZED = 'naive look', 'look'


def draw(rows):
    """Return a figure of the rows of report.Row."""
    figure = matplotlib.figure.Figure(figsize=(10, 4), layout='constrained')
    times, sizes = figure.subplots(1, 2)
    _plot(times.loglog, rows, TIMED, 'seconds')
    _plot(sizes.plot, rows, SIZED, 'memory')
    times.set(xlabel='hosts', ylabel='seconds')
    sizes.set(xlabel='hosts', ylabel='MiB above the start')
    for axes in (times, sizes):
        axes.legend()
        axes.grid(visible=True, alpha=0.3)
    return figure


def _plot(plot, rows, operations, name):
    for operation in operations:
        some = [row for row in rows if row['operation'] == operation]
        hosts = [row['hosts'] for row in some]
        plot(hosts, [row[name] for row in some], marker='o', label=operation)


def main(source, target):
    # Text stays text, and the same rows give the same file.
    matplotlib.rcParams.update({'svg.fonttype': 'none', 'svg.hashsalt': ''})
    rows = json.loads(pathlib.Path(source).read_text())
    draw(rows).savefig(target, format='svg', metadata={'Date': None})


if __name__ == '__main__':
    main(*sys.argv[1:])
