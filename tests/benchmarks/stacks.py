# SPDX-License-Identifier: Apache-2.0
"""How long does a stack of Heat take with a group, and without one?

``tox -e bench-heat`` runs it. One Heat process creates a stack of servers in
turn with and without a group, and deletes it.
"""

import argparse
import contextlib
import itertools
import statistics
import tempfile
import time

from keystoneauth1 import adapter

from nova_groupext.cloud import cloud
from nova_groupext.cloud import hosts
from nova_groupext.cloud import with_groups
from tests.heat import hot
from tests.heat import process

HOSTS = [
    hosts.Host(f'cmp-{n}', f'r{n % 4}', 'az1', vcpus=64) for n in range(12)
]


def resources(number, *, has_group):
    if has_group:
        return {
            'group': hot.group(),
            'webs': hot.many(number, hot.server('web-%index%')),
        }
    alone = hot.server('')
    del alone['properties']['scheduler_hints']
    return {'webs': hot.many(number, alone)}


class Stacks:
    def __init__(self, running):
        session = running.session('demo')
        # A token of before the start of Heat has no endpoint of it.
        session.invalidate()
        self._api = adapter.Adapter(session, service_type='orchestration')
        self._numbers = itertools.count(1)

    def seconds(self, template):
        """Return the seconds that the creation of a stack takes."""
        began = time.monotonic()
        # The name of a deleted stack is taken for a moment.
        name = f'stack-{next(self._numbers)}'
        body = {'stack_name': name, 'template': template}
        stack = self._api.post('/stacks', json=body).json()['stack']
        url = f'/stacks/{name}/{stack["id"]}'
        self._wait(url, 'CREATE_COMPLETE')
        seconds = time.monotonic() - began
        self._api.delete(url)
        self._wait(url, 'DELETE_COMPLETE')
        return seconds

    def _wait(self, url, wanted):
        while True:
            stack = self._api.get(url).json()['stack']
            if stack['stack_status'] == wanted:
                return
            if stack['stack_status'].endswith('FAILED'):
                raise RuntimeError(stack['stack_status_reason'])
            time.sleep(0.2)


def main(argv=None):
    parser = argparse.ArgumentParser(prog='stacks', description=__doc__)
    parser.add_argument('--servers', type=int, default=20)
    parser.add_argument('--rounds', type=int, default=3)
    args = parser.parse_args(argv)
    taken = {True: [], False: []}
    with contextlib.ExitStack() as stack:
        state = stack.enter_context(tempfile.TemporaryDirectory())
        running = stack.enter_context(
            cloud.Cloud(state, HOSTS, with_groups.HOLISTIC)
        )
        stack.enter_context(process.Heat(running))
        stacks = Stacks(running)
        for round_ in range(args.rounds + 1):
            for has_group, all_seconds in taken.items():
                seconds = stacks.seconds(
                    hot.template(resources(args.servers, has_group=has_group))
                )
                # The first round loads what the others need.
                if round_:
                    all_seconds.append(seconds)
    grouped, alone = (statistics.median(taken[each]) for each in (True, False))
    print(  # noqa: T201
        f'a stack of {args.servers} servers: {alone:.1f} s alone, '
        f'{grouped:.1f} s with a group, {grouped / alone:.2f} times'
    )


if __name__ == '__main__':
    main()
