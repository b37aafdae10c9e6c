# SPDX-License-Identifier: Apache-2.0
"""One process of a storm: ``python -m tests.storm.worker SETTINGS``.

It says what it has done, a line for each operation, until its standard input
ends or it is killed.
"""

import json
import random
import sys
import threading

from oslo_db import exception as db_exc

from nova_groupext.conf import CONF
from nova_groupext.db import engine
from tests.services import placement
from tests.storm import life

# Seconds for others to do something.
PAUSE = 0.02

# What a role does, and how often.
ROLES = {
    'planner': {
        'plan': 8,
        'plan_again': 1,
        'release': 2,
        'delete': 4,
        'reap': 1,
        'keep': 2,
    },
    'scheduler': {'redeem': 20, 'conclude': 1},
    'stranger': {'claim': 6, 'leave': 6, 'delete_server': 3, 'delete_hold': 1},
}


def main(settings):
    CONF([], project='nova', default_config_files=[])
    CONF.set_override('connection', settings['database'], 'vrt_database')
    engine.configure()
    chance = random.Random(settings['seed'])
    here = life.Life(
        chance, placement.client(settings['placement']), settings['providers']
    )
    weights = ROLES[settings['role']]
    over = threading.Event()
    threading.Thread(target=_wait_for_the_end, args=(over,)).start()
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
