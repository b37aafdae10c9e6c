# SPDX-License-Identifier: Apache-2.0
"""Looks, holds, redeems and releases on populated clouds, side by side.

``tox -e bench-scheduler`` needs MariaDB. For each size it prints the median
wall time of some runs, its ratio to what Nova does alone in the same run, the
memory by which the process has grown at its peak, and the numbers of SQL
statements on our tables and on Nova's and of Placement requests of the last
run. ``--table`` writes the table of the docs, ``--json`` what plots.py draws.
``--large`` measures large groups instead, as large.py says, ``--ordinary N``
compares ordinary creates, as ordinary.py says.
"""

import argparse
import json
import multiprocessing
import pathlib

from tests.benchmarks.scheduler import large
from tests.benchmarks.scheduler import measures
from tests.benchmarks.scheduler import ordinary
from tests.benchmarks.scheduler import report
from tests.benchmarks.scheduler import shapes

SIZES = 100, 1000, 5000, 10000
LARGE_SIZES = 1000, 2000

LINE = '{:>6} {:<36} {:>8.3f} s {:>7} {:>6.0f} {:>5} {:>5} {:>5}'
HEAD = '{:>6} {:<36} {:>10} {:>7} {:>6} {:>5} {:>5} {:>5}'.format(
    *('hosts', 'operation', 'seconds', 'times', 'MiB', 'ours', 'nova', 'HTTP')
)


def main(argv=None):
    parser = argparse.ArgumentParser(prog='scheduler', description=__doc__)
    parser.add_argument('--size', type=int, action='append')
    parser.add_argument('--shape', choices=[*shapes.SHAPES], default='even')
    parser.add_argument('--table', type=pathlib.Path, metavar='RST')
    parser.add_argument('--json', type=pathlib.Path, metavar='FILE')
    parser.add_argument('--large', action='store_true')
    parser.add_argument('--ordinary', type=int, metavar='N')
    args = parser.parse_args(argv)
    if args.ordinary:
        for size in args.size or SIZES:
            values = args.shape, size, args.ordinary
            for each in _in_process(ordinary.measure, *values):
                print(ordinary.line(size, each), flush=True)  # noqa: T201
        return
    print(f'{measures.MEMBERS} members, shape {args.shape}\n{HEAD}')  # noqa: T201
    measure = large.measure if args.large else measures.measure
    rows = []
    for size in args.size or (LARGE_SIZES if args.large else SIZES):
        found = _in_process(measure, args.shape, size)
        for row in report.rows(size, found):
            rows.append(row)
            print(LINE.format(*row), flush=True)  # noqa: T201
    if args.table:
        args.table.write_text(report.table(rows))
    if args.json:
        args.json.write_text(json.dumps([row._asdict() for row in rows]))


def _in_process(work, *args):
    """Call a function in a new process: it configures Nova's databases."""
    with multiprocessing.get_context('spawn').Pool(1) as pool:
        return pool.apply(work, args)


if __name__ == '__main__':
    main()
