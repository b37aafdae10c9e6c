# SPDX-License-Identifier: Apache-2.0
"""Runner of the stress test: starts, kills and audits the processes."""

import collections
import dataclasses
import json
import logging
import random
import signal
import subprocess
import sys
import threading
import time

import fixtures

from nova_groupext.conf import CONF
from tests import fixtures as test_fixtures
from tests.services import databases
from tests.services import placement
from tests.services import servers
from tests.stress import allocation_audit
from tests.stress import operations

ROLES = ('planner', 'planner', 'scheduler', 'scheduler', 'foreign')

# Name under which workers report unexpected errors as an operation.
UNEXPECTED = 'unexpected'

# An operation that takes longer never ends.
OPERATION_SECONDS = 120

# VCPUs of a host.
TOTAL = 16

# Setting with which Placement never overcommits (see the admin guide).
ONE_ATTEMPT = 'allocation_conflict_retry_count = 1'


def run(hosts, seed, operations, kills, settings=ONE_ATTEMPT):
    """Run a stress test in databases of its own.

    :param settings: lines for Placement's section ``[placement]``
    :returns: Outcome
    """
    CONF([], project='nova', default_config_files=[])
    with fixtures.Fixture() as stack:
        tables_url = stack.useFixture(databases.Database(servers.MARIADB)).url
        stack.useFixture(test_fixtures.Database(tables_url))
        url = stack.useFixture(databases.Database(servers.MARIADB)).url
        processes = stack.useFixture(placement.Placement(url, settings))
        return StressTest(tables_url, processes, hosts, seed).run(
            operations, kills
        )


@dataclasses.dataclass
class Outcome:
    """Results of a stress test.

    :ivar operations: Counter of (name, outcome)
    :ivar violations: sentences about violated invariants
    :ivar leaks: sentences about rows and allocations that were left
    """

    operations: collections.Counter
    kills: int
    seconds: float
    violations: list
    leaks: list

    def total(self):
        return self.operations.total()


class Worker:
    """A worker process, which runs until it is stopped or killed."""

    def __init__(self, settings, counter):
        self._counter = counter
        self._process = subprocess.Popen(
            [
                sys.executable,
                '-m',
                'tests.stress.worker',
                json.dumps(settings),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self._counter[tuple(line.split())] += 1

    def kill(self):
        self._check_running()
        self._process.kill()
        self._end()

    def stop(self):
        self._check_running()
        self._process.stdin.close()
        try:
            self._process.wait(OPERATION_SECONDS)
        except subprocess.TimeoutExpired:
            self._counter[UNEXPECTED, 'an endless operation'] += 1
            # The worker writes where it is.
            self._process.send_signal(signal.SIGABRT)
        self._end()

    def _check_running(self):
        """Report a process that has ended by itself as an error."""
        if self._process.poll() is not None:
            self._counter[UNEXPECTED, 'the end of a worker'] += 1

    def _end(self):
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()


class StressTest:
    """Stress test on some hosts.

    :param database: URL of a database with our tables
    :param processes: tests.services.placement.Placement
    :param seed: seed of the operations and kills, but not of their timing
    """

    def __init__(self, database, processes, hosts, seed):
        self._database = database
        self._processes = processes
        self._random = random.Random(seed)
        self._admin = processes.clients(1)[0]
        self._providers = [
            placement.make_provider(self._admin, VCPU=TOTAL)
            for _host in range(hosts)
        ]
        self._audit = allocation_audit.AllocationAudit(
            self._admin, self._providers
        )
        self._counter = collections.Counter()

    def run(self, operations, kills):
        """Run a number of operations, then let the reaper clean up."""
        started = time.monotonic()
        workers = [self._start(role) for role in ROLES]
        violations = set()
        killed = 0
        while self._counter.total() < operations:
            violations.update(self._audit.check_now())
            if killed < kills * self._counter.total() / operations:
                number = self._random.randrange(len(workers))
                workers[number].kill()
                workers[number] = self._start(ROLES[number])
                killed += 1
                # A line for each kill tells how far it is.
                sys.stderr.write(
                    f'{self._counter.total()} of {operations} operations, '
                    f'{killed} of {kills} kills, '
                    f'{time.monotonic() - started:.0f} s\n'
                )
        for worker in workers:
            worker.stop()
        last_round = self._clean_up()
        return Outcome(
            operations=self._counter,
            kills=killed,
            seconds=time.monotonic() - started,
            violations=sorted(
                violations
                | set(self._audit.violations())
                | self._unexpected_errors()
            ),
            leaks=[*last_round, *self._audit.leaks()],
        )

    def _start(self, role):
        settings = {
            'role': role,
            'database': self._database,
            'placement': self._random.choice(self._processes.urls),
            'providers': self._providers,
            'seed': self._random.randrange(2**32),
        }
        return Worker(settings, self._counter)

    def _unexpected_errors(self):
        return {
            f'a log tells of {error}'
            for name, error in self._counter
            if name == UNEXPECTED
        }

    def _clean_up(self):
        """Reap until the leases of all killed processes have expired.

        :returns: log of the errors in the last round, as a list
        """
        with operations.Operations(
            self._random, self._admin, self._providers, share_lost=0
        ) as reaper:
            for _round in range(3):
                time.sleep(operations.LEASE_SECONDS + 1)
                with fixtures.FakeLogger(
                    'nova_groupext', level=logging.ERROR
                ) as errors:
                    for name in ('beat', 'reap', 'beat', 'reap', 'maintain'):
                        reaper.run_operation(name)
        return [errors.output] if errors.output else []
