# SPDX-License-Identifier: Apache-2.0
"""Memory of the processes of a cloud."""

from collections.abc import Iterator
from collections.abc import Mapping
import pathlib
import re

from tests.real_cloud import processes

#: Growth that a process of ours may have from the first third of a storm to
#: its end, and seconds from which on that is more than the first use of
#: modules.
MAX_GROWTH = 1.1
MIN_SECONDS = 600
OURS = 'nova-groupext-'
#: Processes that load nothing of ours. Nova's API has our router.
NOVAS = 'nova-conductor-', 'nova-computes-'


def read(running: Mapping[str, processes.Process]) -> dict[tuple, float]:
    """Return {(name, pid): MiB} of services and their children.

    It is the proportional set size: pages that processes share count once.
    """
    return {
        (name, process.pid): sum(map(_mib, _with_children(process.pid)))
        for name, process in running.items()
    }


def _with_children(pid):
    found = [pid]
    for parent in found:
        tasks = pathlib.Path(f'/proc/{parent}/task')
        for file in tasks.glob('*/children'):
            found += [int(each) for each in file.read_text().split()]
    return found


def _mib(pid):
    try:
        text = pathlib.Path(f'/proc/{pid}/smaps_rollup').read_text()
    except OSError:
        return 0.0
    kib = re.search(r'^Pss: +(\d+) kB$', text, re.MULTILINE)
    return int(kib.group(1)) / 1024 if kib else 0.0


def table(before: Mapping, after: Mapping) -> list[tuple]:
    """Return [(name, MiB before, MiB after)] of processes that were kept."""
    return [
        (name, before[name, pid], mib)
        for (name, pid), mib in after.items()
        if (name, pid) in before
    ]


def find_grown(table: list[tuple]) -> Iterator[str]:
    """Yield which processes of ours have grown, more than all of Nova's.

    Errors leave cycles of objects that Python collects late. So a process
    grows with each failure of a server, Nova's own processes as well.

    :param table: see table()
    """
    growth = {name: after / before for name, before, after in table}
    novas = [each for name, each in growth.items() if name.startswith(NOVAS)]
    limit = max([MAX_GROWTH, *novas])
    for name, each in growth.items():
        if name.startswith(OURS) and each > limit:
            yield f'{name} has grown by {each - 1:.0%}'
