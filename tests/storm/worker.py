# SPDX-License-Identifier: Apache-2.0
"""One process of a storm: ``python -m tests.storm.worker SETTINGS``.

It says what it has done, a line for each operation, until its standard input
ends or it is killed.
"""

import json
import logging
import random
import sys
import threading

from oslo_db import exception as db_exc

from nova_groupext.conf import CONF
from nova_groupext.db import engine
from tests.services import placement
from tests.storm import life
from tests.storm import storm

# What operations may be refused, and what a log may tell of.
TROUBLE = (*life.REFUSALS, db_exc.DBError)

# Seconds for others to do something.
PAUSE = 0.02

# What a role does, and how often.
ROLES = {
    'planner': {
        'plan': 8,
        'revise': 4,
        'beat': 2,
        'release': 2,
        'delete': 4,
        'reap': 1,
        'keep': 2,
    },
    'scheduler': {'redeem': 16, 'redeem_some': 4, 'conclude': 1},
    'stranger': {'claim': 6, 'leave': 6, 'delete_server': 3, 'delete_hold': 1},
}


def main(settings):
    CONF([], project='nova', default_config_files=[])
    CONF.set_override('connection', settings['database'], 'vrt_database')
    engine.configure()
    chance = random.Random(settings['seed'])
    logging.getLogger('nova_groupext').addHandler(Surprises())
    over = threading.Event()
    threading.Thread(target=_wait_for_the_end, args=(over,)).start()
    client = placement.client(settings['placement'])
    with life.Life(chance, client, settings['providers']) as here:
        _work(here, chance, ROLES[settings['role']], over)


class Surprises(logging.StreamHandler):
    """Tells of errors in the log that nobody has foreseen."""

    def __init__(self):
        super().__init__()
        self.setLevel(logging.ERROR)
        self.addFilter(self._is_surprise)

    @staticmethod
    def _is_surprise(record):
        found = record.exc_info and record.exc_info[1]
        return not isinstance(found, TROUBLE)

    def emit(self, record):
        found = record.exc_info and record.exc_info[1]
        _say(storm.SURPRISE, type(found).__name__)
        super().emit(record)


def _work(here, chance, weights, over):
    """Do what a role does, until it is over.

    :param weights: {operation: how often it is done}
    """
    while not over.is_set():
        [name] = chance.choices([*weights], [*weights.values()])
        try:
            outcome = here.do(name)
        except db_exc.DBError as exc:
            outcome = type(exc).__name__
        if outcome == 'nothing':
            # There was nothing to do it to.
            over.wait(PAUSE)
        else:
            _say(name, outcome)


def _wait_for_the_end(over):
    sys.stdin.read()
    over.set()


def _say(name, outcome):
    sys.stdout.write(f'{name} {outcome}\n')
    sys.stdout.flush()


if __name__ == '__main__':
    main(json.loads(sys.argv[1]))
