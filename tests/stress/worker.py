# SPDX-License-Identifier: Apache-2.0
"""One process of the stress test: ``python -m tests.stress.worker SETTINGS``.

It prints a line for each operation until its standard input ends or it is
killed.
"""

import faulthandler
import json
import logging
import random
import sys
import threading

from oslo_db import exception as db_exc

from nova_groupext.conf import CONF
from nova_groupext.db import engine
from tests.services import placement
from tests.stress import operations
from tests.stress import runner

# Errors that operations may end with and that a log may contain.
EXPECTED_ERRORS = (*operations.REFUSALS, db_exc.DBError)

# Seconds to wait when there was nothing to do.
PAUSE = 0.02

# {role: {operation: relative frequency}}
ROLES = {
    'planner': {
        'plan': 8,
        'revise': 4,
        'beat': 8,
        'release': 2,
        'delete': 4,
        'reap': 1,
        'maintain': 2,
    },
    'scheduler': {
        'redeem': 16,
        'redeem_two': 4,
        'grow': 20,
        'resolve_redeem': 1,
    },
    'foreign': {
        'claim_foreign': 6,
        'delete_foreign': 6,
        'delete_server': 5,
        'delete_hold': 1,
    },
}


def main(settings):
    faulthandler.enable()
    CONF([], project='nova', default_config_files=[])
    CONF.set_override('connection', settings['database'], 'vrt_database')
    engine.configure()
    rng = random.Random(settings['seed'])
    logging.getLogger('nova_groupext').addHandler(UnexpectedErrors())
    stop = threading.Event()
    threading.Thread(target=_wait_for_stdin, args=(stop,)).start()
    client = placement.client(settings['placement'])
    with operations.Operations(
        rng, client, settings['providers']
    ) as operations_:
        _work(operations_, rng, ROLES[settings['role']], stop)


class UnexpectedErrors(logging.StreamHandler):
    """Log handler that reports unexpected errors as operations."""

    def __init__(self):
        super().__init__()
        self.setLevel(logging.ERROR)
        self.addFilter(self.is_unexpected)

    @staticmethod
    def is_unexpected(record):
        error = record.exc_info and record.exc_info[1]
        return not isinstance(error, EXPECTED_ERRORS)

    def emit(self, record):
        error = record.exc_info and record.exc_info[1]
        _report(runner.UNEXPECTED, type(error).__name__)
        super().emit(record)


def _work(operations_, rng, weights, stop):
    """Run random operations of a role until ``stop`` is set.

    :param weights: {operation: relative frequency}
    """
    while not stop.is_set():
        [name] = rng.choices([*weights], [*weights.values()])
        try:
            outcome = operations_.run_operation(name)
        except db_exc.DBError as exc:
            outcome = type(exc).__name__
        if outcome == 'nothing':
            # No object was in a state for the operation.
            stop.wait(PAUSE)
        else:
            _report(name, outcome)


def _wait_for_stdin(stop):
    sys.stdin.read()
    stop.set()


def _report(name, outcome):
    sys.stdout.write(f'{name} {outcome}\n')
    sys.stdout.flush()


if __name__ == '__main__':
    main(json.loads(sys.argv[1]))
