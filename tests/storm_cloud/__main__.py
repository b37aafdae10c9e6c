# SPDX-License-Identifier: Apache-2.0
"""A storm on a real cloud: ``python -m tests.storm_cloud --help``.

Tenants deploy, revise and remove groups, boot and delete servers, an admin
migrates them, and meanwhile services, servers and the network fail. At rest
Placement, Nova and our tables have to agree. A seed repeats the faults and
the choices of the tenants, as far as processes allow.
"""

import argparse
import os
import pathlib
import random
import shutil
import sys
import tempfile
import threading
import time

from tests.real_cloud import accounts
from tests.real_cloud import cloud as clouds
from tests.real_cloud import layout as layouts
from tests.real_cloud import processes
from tests.services import servers
from tests.storm_cloud import doors as storm_doors
from tests.storm_cloud import faults as storm_faults
from tests.storm_cloud import logs
from tests.storm_cloud import memory
from tests.storm_cloud import rest
from tests.storm_cloud import tenants

TENANTS_PER_PROJECT = 5
THIRD = 1 / 3
AGAIN = '--again'


def main(argv=None):
    options = _parser().parse_args(argv)
    processes.end_by_sigterm()
    tell = _teller()
    tell(f'seed {options.seed}')
    wrong, missing = _storm(options, tell)
    if options.again and missing and not wrong:
        tell('too little has happened; once more')
        _begin_anew(argv or sys.argv[1:])
    return 1 if wrong or missing else 0


def _begin_anew(arguments):
    """Become a new process: Nova's code keeps the first storm's databases."""
    words = [each for each in arguments if each != AGAIN]
    words = sys.executable, '-m', __package__, *words
    os.execv(sys.executable, words)


def _storm(options, tell):
    """Run a storm on a new cloud; return what _Run.run() does."""
    state = options.keep or pathlib.Path(tempfile.mkdtemp(prefix='storm'))
    state.mkdir(exist_ok=True, parents=True)
    layout = layouts.Layout.load(state.absolute(), own_servers=True)
    doors = storm_doors.Doors(layout)
    cloud = clouds.RealCloud(layout)
    try:
        cloud.start(tell)
        return _Run(cloud, doors, options, tell).run()
    finally:
        cloud.stop()
        doors.close()
        if not options.keep:
            shutil.rmtree(state)


class _Run:
    """One storm on a cloud that runs."""

    def __init__(self, cloud, doors, options, tell):
        self._cloud = cloud
        self._options = options
        self._tell = tell
        self._faults = storm_faults.Faults(cloud, doors)
        self._storm = tenants.Storm(options.operations)
        self._ends_at = time.monotonic() + 60 * options.minutes

    def run(self):
        """Return the violations and leaks, and what should have happened."""
        if not self._faults.has_clocks:
            if servers.are_required():
                return ['Debian\'s package "faketime" is missing'], []
            self._tell('no libfaketime: all clocks stay right')
        began = time.monotonic()
        threads = self._start_tenants()
        before = self._blow()
        for thread in threads:
            while thread.is_alive():
                thread.join(1)
                self._revive()
        self._faults.end()
        self._print_counts(time.monotonic() - began)
        self._tell('waiting for rest')
        at_rest = rest.Rest(self._cloud)
        leaks = at_rest.wait()
        violations = at_rest.violations()
        grown = self._compare_memory(*before)
        self._tell('deleting everything')
        leaks += at_rest.clean()
        missing = [*self._missing()]
        found = [*violations, *leaks, *grown, *self._storm.crashes]
        said = logs.lines_about(self._cloud.state / 'log', found)
        for each in (*found, *missing, *said):
            print(each)  # noqa: T201
        self._tell(
            f'operations {self._storm.begun}, kills {self._kills}, faults '
            f'{self._number}, violations {len(violations)}, leaks {len(leaks)}'
        )
        return found, missing

    def _start_tenants(self):
        layout, seed = self._cloud.layout, self._options.seed
        threads = [
            tenants.Tenant(
                self._storm, tenants.User(layout, user), f'{seed} {user} {n}'
            )
            for user in accounts.TENANTS
            for n in range(TENANTS_PER_PROJECT)
        ]
        admin = tenants.User(layout, 'admin')
        threads.append(tenants.Admin(self._storm, admin, f'{seed} admin'))
        for each in threads:
            each.start()
        return threads

    def _blow(self):
        """Carry out the faults; return the memory after the first third."""
        options = self._options
        planned = storm_faults.plan(
            random.Random(options.seed), options.operations, options.kills
        )
        self._number = self._kills = 0
        before = None
        for fault in planned:
            if not self._wait_for(fault.at):
                break
            if before is None and fault.at > options.operations * THIRD:
                before = self._read_memory()
            self._tell(f'{self._storm.begun} operations; {fault}')
            self._faults.happen(fault)
            self._number += 1
            self._kills += self._faults.is_kill(fault)
        self._is_complete = self._wait_for(options.operations)
        self._storm.end()
        return before or self._read_memory()

    def _missing(self):
        """Yield what a storm should have done: a lull proves nothing."""
        if not self._is_complete:
            yield (
                f'only {self._storm.begun} operations have begun, and only '
                f'{self._number} faults have happened'
            )
        yield from self._storm.missing()

    def _read_memory(self):
        return time.monotonic(), memory.read(self._cloud.running)

    def _wait_for(self, operations):
        """Wait until so many have begun; returns False if time is over."""
        while self._storm.begun < operations:
            if time.monotonic() > self._ends_at:
                self._tell('the time is over')
                return False
            self._revive()
            time.sleep(0.2)
        return True

    def _revive(self):
        if ended := self._faults.revive():
            self._tell(f'ended, and started again: {", ".join(ended)}')

    def _print_counts(self, seconds):
        for (name, outcome), count in sorted(self._storm.outcomes.items()):
            print(f'{name:16} {outcome:22} {count:6}')  # noqa: T201
        rate = self._storm.begun / seconds
        self._tell(f'{seconds:.0f} s, {rate:.1f} operations a second')

    def _compare_memory(self, read_at, before):
        """Print the memory of what has run since; return what has grown."""
        now, after = self._read_memory()
        table = memory.table(before, after)
        for name, old, new in table:
            print(f'{name:46} {old:6.0f} MiB, {new:6.0f} MiB')  # noqa: T201
        if now - read_at < memory.MIN_SECONDS:
            return []
        return [*memory.find_grown(table)]


def _teller():
    began = time.monotonic()
    lock = threading.Lock()

    def tell(text):
        with lock:
            print(f'{time.monotonic() - began:6.1f} s  {text}', flush=True)  # noqa: T201

    return tell


def _parser():
    parser = argparse.ArgumentParser(prog='storm', description=__doc__)
    parser.add_argument('--operations', type=int, default=1700)
    parser.add_argument('--kills', type=int, default=17)
    parser.add_argument(
        '--minutes', type=float, default=45, help='longest time of the storm'
    )
    parser.add_argument(
        '--seed', type=int, default=int(time.time()), help='default: the time'
    )
    parser.add_argument(
        AGAIN,
        action='store_true',
        help='once more if too little has happened, as on a busy machine',
    )
    parser.add_argument(
        '--keep',
        type=pathlib.Path,
        metavar='DIR',
        help='keep the files and logs of the cloud in DIR',
    )
    return parser


if __name__ == '__main__':
    sys.exit(main())
