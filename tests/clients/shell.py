# SPDX-License-Identifier: Apache-2.0
"""openstackclient's own shell, in this process.

A process of its own would need seconds for its imports.
"""

import contextlib
import dataclasses
import io
import json
import logging
import os
from unittest import mock
import warnings

from openstackclient import shell
from osc_lib import clientmanager


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The exit status and the output of a command."""

    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


def run(*argv, clouds_yaml=os.devnull, cloud=''):
    """Run ``openstack argv``; returns an Outcome."""
    out, err = io.StringIO(), io.StringIO()
    environ = {
        'OS_CLIENT_CONFIG_FILE': str(clouds_yaml),
        'OS_CLOUD': cloud,
        'COLUMNS': '100',
    }
    with (
        mock.patch.dict(os.environ, environ),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        _clients_of_its_own(),
        _logging_as_it_was(),
        warnings.catch_warnings(),
    ):
        try:
            status = shell.main(list(argv))
        except SystemExit as exc:
            # argparse leaves like this, for help and for wrong options.
            status = exc.code or 0
    return Outcome(status, out.getvalue(), err.getvalue())


def _clients_of_its_own():
    """Return a patch that resets the clients which the shell caches."""
    manager = clientmanager.ClientManager
    return mock.patch.multiple(
        manager,
        **{
            name: clientmanager.ClientCache(each.factory)
            for name, each in vars(manager).items()
            if isinstance(each, clientmanager.ClientCache)
        },
    )


@contextlib.contextmanager
def _logging_as_it_was():
    """Undo the shell's changes of the root logger."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers
