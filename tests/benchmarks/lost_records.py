# SPDX-License-Identifier: Apache-2.0
"""How often does Placement lose the record of a consumer?

``tox -e bench-lost-records`` runs it. In each round two clients fill one new
consumer at the same moment, through two processes of Placement. Its record is
lost when it owns nothing, by Placement's word, and its provider is used all
the same. Then the consumer is filled once more: does that mend it?
"""

import argparse
import collections
import contextlib
import functools
import sys

from oslo_utils import uuidutils

from tests.services import concurrency
from tests.services import databases
from tests.services import placement
from tests.services import servers

SETTINGS = ('', 'allocation_conflict_retry_count = 1')
DATABASES = (servers.MARIADB, servers.SNAPSHOTS, servers.POSTGRESQL)


def measure(server, settings, rounds):
    """Return {what came out: in how many rounds}."""
    outcomes = collections.Counter()
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(databases.Database(server)).url
        running = stack.enter_context(placement.Placement(url, settings))
        clients = running.clients(2)
        for _round in range(rounds):
            outcomes.update(_round_of(clients))
    return outcomes


def _round_of(clients):
    """Yield what comes out of one round."""
    admin = clients[0]
    provider = placement.make_provider(admin, VCPU=10)
    consumer = uuidutils.generate_uuid()
    fill = functools.partial(
        placement.claim, provider=provider, consumer=consumer, VCPU=1
    )
    answers = concurrency.call_concurrently(
        [functools.partial(fill, client) for client in clients]
    )
    filled = [answer.status_code for answer in answers].count(204)
    yield f'{filled} filled'
    if _owns(admin, consumer) or not _used(admin, provider):
        return
    yield 'lost'
    if fill(admin).status_code == 204 and _owns(admin, consumer):
        yield f'mended, {_used(admin, provider)} used'


def _owns(admin, consumer):
    return admin.get(f'/allocations/{consumer}').json()['allocations']


def _used(admin, provider):
    path = f'/resource_providers/{provider}/usages'
    return admin.get(path).json()['usages']['VCPU']


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rounds', type=int, default=100)
    args = parser.parse_args(argv)
    for server in DATABASES:
        for settings in SETTINGS:
            outcomes = dict(
                sorted(measure(server, settings, args.rounds).items())
            )
            print(f'{server.name}, {settings or "defaults"}: {outcomes}')  # noqa: T201
    return 0


if __name__ == '__main__':
    sys.exit(main())
