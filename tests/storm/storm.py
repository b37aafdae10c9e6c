# SPDX-License-Identifier: Apache-2.0
"""Start the processes, kill some, watch, and look at what is left."""

import collections
import dataclasses
import json
import logging
import random
import subprocess
import sys
import threading
import time

import fixtures

from nova_groupext.conf import CONF
from tests import fixtures as ours
from tests.services import databases
from tests.services import placement
from tests.services import servers
from tests.storm import books
from tests.storm import life

ROLES = ('planner', 'planner', 'scheduler', 'scheduler', 'stranger')

# As an operation, it is a violation.
SURPRISE = 'surprise'

# VCPUs of a host.
TOTAL = 16

# With it Placement never overcommits (see the admin guide).
SAFE = 'allocation_conflict_retry_count = 1'


def run(hosts, seed, operations, kills, settings=SAFE):
    """Storm in databases of its own.

    :param settings: lines for Placement's section ``[placement]``
    :returns: Outcome
    """
    CONF([], project='nova', default_config_files=[])
    with fixtures.Fixture() as here:
        ours_url = here.useFixture(databases.Database(servers.MARIADB)).url
        here.useFixture(ours.Database(ours_url))
        url = here.useFixture(databases.Database(servers.MARIADB)).url
        processes = here.useFixture(placement.Placement(url, settings))
        return Storm(ours_url, processes, hosts, seed).run(operations, kills)


@dataclasses.dataclass
class Outcome:
    """What a storm came to.

    :ivar operations: (name, outcome) -> how often
    :ivar violations: sentences about capacity with two owners, or none
    :ivar leaks: sentences about what is left behind
    """

    operations: collections.Counter
    kills: int
    seconds: float
    violations: list
    leaks: list

    def total(self):
        return self.operations.total()


class Worker:
    """A process that works until it is told to stop, or killed."""

    def __init__(self, settings, counter):
        self._counter = counter
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'tests.storm.worker', json.dumps(settings)],
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
        self._process.kill()
        self._end()

    def stop(self):
        self._process.stdin.close()
        self._end()

    def _end(self):
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()


class Storm:
    """A storm over some hosts.

    :param database: URL of a database with our tables
    :param processes: tests.services.placement.Placement
    :param seed: what the processes do and when they are killed follows from
        it; in which order they meet does not
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
        self._books = books.Books(self._admin, self._providers)
        self._counter = collections.Counter()

    def run(self, operations, kills):
        """Storm for so many operations, then let the reaper clean up."""
        started = time.monotonic()
        workers = [self._start(role) for role in ROLES]
        violations = set()
        killed = 0
        while self._counter.total() < operations:
            violations.update(self._books.watch())
            if killed < kills * self._counter.total() / operations:
                number = self._random.randrange(len(workers))
                workers[number].kill()
                workers[number] = self._start(ROLES[number])
                killed += 1
        for worker in workers:
            worker.stop()
        last_round = self._clean_up()
        return Outcome(
            operations=self._counter,
            kills=killed,
            seconds=time.monotonic() - started,
            violations=sorted(
                violations | set(self._books.violations()) | self._surprises()
            ),
            leaks=[*last_round, *self._books.leaks()],
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

    def _surprises(self):
        return {
            f'a log tells of {error}'
            for name, error in self._counter
            if name == SURPRISE
        }

    def _clean_up(self):
        """Reap until all that died are known to be dead.

        :returns: what the last rounds said of errors, if they did
        """
        with life.Life(
            self._random, self._admin, self._providers, share_lost=0
        ) as reaper:
            for _round in range(3):
                time.sleep(life.LEASE + 1)
                with fixtures.FakeLogger(
                    'nova_groupext', level=logging.ERROR
                ) as errors:
                    for name in ('beat', 'reap', 'beat', 'reap', 'keep'):
                        reaper.do(name)
        return [errors.output] if errors.output else []
