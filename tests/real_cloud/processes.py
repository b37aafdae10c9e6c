# SPDX-License-Identifier: Apache-2.0
"""Processes of a real cloud. Only what was started here is stopped here."""

from collections.abc import Mapping
import contextlib
import dataclasses
import os
import pathlib
import signal
import subprocess
import time

STOP_SECONDS = 30
# A program that is started by this ends with the main thread of its parent,
# even if the parent is killed.
ENDS_WITH_PARENT = ('setpriv', '--pdeathsig', 'KILL')


class Failed(Exception):
    """A process has ended, or a command has failed; the text says why."""


@dataclasses.dataclass(frozen=True)
class Command:
    """A program and what it needs.

    :ivar name: of its log
    :ivar variables: of its environment, besides those of this process
    """

    name: str
    words: tuple[str, ...]
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, **self.variables}


class Process:
    """A running service in a process group of its own."""

    def __init__(self, command: Command, log: pathlib.Path):
        self.command = command
        self.log = log / f'{command.name}.log'
        with self.log.open('ab') as out:
            self._process = subprocess.Popen(
                (*ENDS_WITH_PARENT, *command.words),
                env=command.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def check(self) -> None:
        """Check that it runs.

        :raises Failed: otherwise, with the end of its log
        """
        if self.has_ended:
            raise Failed(
                f'{self.command.name} has ended with '
                f'{self._process.returncode}:\n{tail(self.log)}'
            )

    def stop(self, signum: int = signal.SIGTERM) -> None:
        """Stop it and its children: gently, and for sure after a while."""
        deadline = time.monotonic() + STOP_SECONDS
        self.signal(signum)
        while self._process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        self.signal(signal.SIGKILL)
        self._process.wait()

    def signal(self, signum: int) -> None:
        """Send a signal to it and its children, if any is left."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signum)


def end_by_sigterm() -> None:
    """Handle SIGTERM like Ctrl-C: the program stops its services, and ends."""
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(*_args):
    raise KeyboardInterrupt


def run(command: Command, log: pathlib.Path) -> None:
    """Run a command to its end.

    :raises Failed: if it ends with an error
    """
    file = log / f'{command.name}.log'
    with file.open('ab') as out:
        ended = subprocess.run(
            command.words,
            env=command.environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    if ended.returncode:
        raise Failed(f'{command.name} failed:\n{tail(file)}')


def tail(file: pathlib.Path, lines: int = 15) -> str:
    """Return the end of a log."""
    return '\n'.join(file.read_text(errors='replace').splitlines()[-lines:])
