# SPDX-License-Identifier: Apache-2.0
"""Processor time of ordinary creates through our scheduler, against Nova's.

The creates of both take turns, first alone, then while a planner in another
process looks at the same cloud and decides one group after the other.
"""

import contextlib
import os
import signal
import statistics
import time
from typing import NamedTuple

from tests.benchmarks.scheduler import cloud as clouds
from tests.benchmarks.scheduler import measures
from tests.benchmarks.scheduler import shapes


class Creates(NamedTuple):
    """Medians of the processor seconds of some creates, and their ratio.

    :ivar beside_plans: whether a planner was busy meanwhile
    """

    beside_plans: bool
    stock: float
    ours: float

    @property
    def ratio(self):
        return self.ours / self.stock


def measure(shape, size, number):
    """Return the Creates alone, and beside plans.

    :param number: creates of each scheduler
    """
    with clouds.PopulatedCloud(shapes.SHAPES[shape], size) as populated:
        bench = measures.Bench(populated)
        for create in (bench.create, bench.create_beside):
            create()
        alone = Creates(False, *_take_turns(bench, number))
        with _busy_planner(populated):
            beside = Creates(True, *_take_turns(bench, number))
        return alone, beside


def _take_turns(bench, number):
    """Return the medians of stock Nova's and of our processor seconds."""
    works = bench.create, bench.create_beside
    seconds = [], []
    for turn in range(number):
        for which in (0, 1) if turn % 2 else (1, 0):
            began = time.process_time()
            works[which]()
            seconds[which].append(time.process_time() - began)
    return [statistics.median(each) for each in seconds]


@contextlib.contextmanager
def _busy_planner(cloud):
    """Hold and release groups in another process during a ``with`` block."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _hold_groups(cloud, writer)
        finally:
            os._exit(1)
    os.close(writer)
    try:
        # The child has a planner, and begins.
        if not os.read(reader, 1):
            raise RuntimeError('the planner in another process failed')
        yield
        if os.waitpid(pid, os.WNOHANG)[0]:
            raise RuntimeError('the planner in another process has ended')
    finally:
        os.close(reader)
        os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _hold_groups(cloud, writer):
    bench = measures.Bench(cloud)
    os.write(writer, b'.')
    while True:
        _counts, group = bench.hold(measures.MEMBERS)
        bench.release(group)


def line(size, creates):
    """Return a line that tells of some creates."""
    where = 'beside plans' if creates.beside_plans else 'alone'
    return (
        f'{size:>6} hosts, {where:<12} stock {creates.stock * 1000:.1f} ms, '
        f'ours {creates.ours * 1000:.1f} ms, {creates.ratio:.3f} times'
    )
