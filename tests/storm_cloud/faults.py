# SPDX-License-Identifier: Apache-2.0
"""Faults of a storm: which come when, and what each does to the cloud."""

from collections.abc import Iterator
from collections.abc import Sequence
import os
import pathlib
import random
import signal
import time
from typing import NamedTuple

from tests.real_cloud import cloud as clouds
from tests.real_cloud import layout as layouts
from tests.real_cloud import own_servers
from tests.real_cloud import processes
from tests.storm_cloud import doors as storm_doors

_PLANNERS = tuple(
    f'nova-groupext-planner-{host}' for host in clouds.CONTROLLERS
)
#: Processes that are killed, or stopped gently.
SERVICES = (
    *(f'nova-groupext-scheduler-{host}' for host in clouds.CONTROLLERS),
    *_PLANNERS,
    *('nova-api-1', 'nova-api-2'),
    f'nova-conductor-{clouds.CONTROLLERS[0]}',
    *(f'nova-conductor-{cell}' for cell in layouts.CELLS),
    *own_servers.NAMES,
)
#: Only early faults hit these: their memory is compared afterwards.
SPARED = (
    f'nova-groupext-scheduler-{clouds.CONTROLLERS[1]}',
    _PLANNERS[1],
    'nova-api-2',
)
EARLY = 1 / 6

MAX_SECONDS_DOWN = 4
CELL_SECONDS = 15
# Keystone keeps three keys: tokens made before three rotations are invalid.
ROTATIONS = 3

LIBFAKETIME = 'faketime/libfaketimeMT.so.1'
CLOCK = pathlib.Path(__file__).with_name('clock')
CLOCKS = ('+600s', '-600s')

KILLS = tuple(('kill', name) for name in SERVICES)
OTHERS = (
    *(('restart', name) for name in SERVICES),
    *(
        (kind, f'{server} {part}')
        for kind in ('cut', 'hang')
        for server in own_servers.NAMES
        for part in ('top', *layouts.CELLS)
    ),
    *(('lose_cell', cell) for cell in layouts.CELLS),
    *(('set_clock', f'{_PLANNERS[0]} {clock}') for clock in CLOCKS),
    *(('rotate_tokens', 'keystone'),) * 2,
)


class Fault(NamedTuple):
    """A fault, and when it comes.

    :ivar at: number of operations that have begun by then
    :ivar kind: name of a method of Faults
    :ivar seconds: how long what it stops is away
    """

    at: int
    kind: str
    target: str
    seconds: float

    def __str__(self):
        return f'{self.kind} {self.target}, {self.seconds:.1f} s'


def plan(rng: random.Random, operations: int, kills: int) -> list[Fault]:
    """Return the faults of a storm in their order.

    Every other one is a kill. Each kind comes once before it comes again.
    """
    decks = _deck(rng, KILLS), _deck(rng, OTHERS)
    chosen = []
    for number in range(2 * kills):
        at = (number + 1) * operations // (2 * kills + 1)
        deck = decks[number % 2]
        kind, target = next(deck)
        while at > EARLY * operations and target in SPARED:
            kind, target = next(deck)
        seconds = rng.uniform(0, MAX_SECONDS_DOWN)
        chosen.append(Fault(at, kind, target, seconds))
    return chosen


def _deck(rng: random.Random, cards: Sequence) -> Iterator:
    """Yield all items in random order, then in another one, and so on."""
    while True:
        yield from rng.sample(cards, len(cards))


class Faults:
    """Faults, carried out on a cloud.

    :ivar has_clocks: whether a planner's clock can be set
    """

    def __init__(self, cloud: clouds.RealCloud, doors: storm_doors.Doors):
        self._cloud = cloud
        self._doors = doors
        self._libfaketime = [
            str(each)
            for each in pathlib.Path('/usr/lib').glob(f'*/{LIBFAKETIME}')
        ]

    @property
    def has_clocks(self) -> bool:
        return bool(self._libfaketime)

    def happen(self, fault: Fault) -> None:
        """Do it, and bring back what it has stopped."""
        getattr(self, fault.kind)(*fault.target.split(), fault.seconds)

    def is_kill(self, fault: Fault) -> bool:
        """Check whether a fault kills a process."""
        return fault.kind == 'kill' or (
            fault.kind == 'set_clock' and self.has_clocks
        )

    def kill(self, name, seconds):
        self._stop_and_start(name, seconds, signal.SIGKILL)

    def restart(self, name, seconds):
        self._stop_and_start(name, seconds, signal.SIGTERM)

    def cut(self, server, part, seconds):
        self._doors.cut(server, part)
        time.sleep(seconds)
        self._doors.open(server, part)

    def hang(self, server, part, seconds):
        self._doors.hang(server, part)
        time.sleep(seconds)
        self._doors.go_on(server, part)

    def lose_cell(self, cell, _seconds):
        """Cut a cell off, for longer than a request waits for its answer."""
        for server in own_servers.NAMES:
            self._doors.cut(server, cell)
        time.sleep(CELL_SECONDS)
        for server in own_servers.NAMES:
            self._doors.open(server, cell)

    def set_clock(self, name, offset, seconds):
        """Kill a service, and start it with another clock."""
        if self.has_clocks:
            variables = {
                'LD_PRELOAD': self._libfaketime[0],
                'FAKETIME': offset,
                'FAKETIME_DONT_FAKE_MONOTONIC': '1',
                'PYTHONPATH': os.pathsep.join(
                    [str(CLOCK), os.environ.get('PYTHONPATH', '')]
                ),
            }
            self._stop_and_start(name, seconds, signal.SIGKILL, variables)

    def rotate_tokens(self, _name, _seconds):
        """Rotate keystone's keys until no earlier token is valid."""
        for _rotation in range(ROTATIONS):
            self._cloud.rotate_keys()

    def revive(self) -> list[str]:
        """Start services that have ended, as systemd does; return them.

        Nova's schedulers end when Placement does not answer at their start.
        """
        ended = [
            name
            for name, process in self._cloud.running.items()
            if process.has_ended
        ]
        for name in ended:
            self._cloud.launch(self._cloud.command(name))
        return ended

    def end(self):
        """Set all clocks right."""
        self.restart(_PLANNERS[0], 0)

    def _stop_and_start(self, name, seconds, signum, variables=None):
        process = self._cloud.running[name]
        process.stop(signum)
        time.sleep(seconds)
        command = self._cloud.command(name)
        if variables:
            command = processes.Command(
                name, command.words, {**command.variables, **variables}
            )
        self._cloud.launch(command)
