# SPDX-License-Identifier: Apache-2.0
"""One of Nova's own schedulers among ours: ``tox -e mixed-schedulers``.

An operator who replaces schedulers one after the other has both for a while.
The stock one refuses the servers of members, through HolisticFilter, and
places ordinary servers; nothing gets two owners.
"""

import argparse
import collections
import pathlib
import sys
import tempfile

from tests.real_cloud import accounts
from tests.real_cloud import cloud as clouds
from tests.real_cloud import processes
from tests.storm_cloud import rest
from tests.storm_cloud import tenants

MEMBERS, ORDINARY = 12, 12
# The server of a member is created so often until our scheduler gets it.
MAX_ATTEMPTS = 12
REFUSAL = 'was not scheduled by nova-groupext-scheduler'
REPLACED = f'nova-groupext-scheduler-{clouds.CONTROLLERS[1]}'


def main(argv=None):
    parser = argparse.ArgumentParser(prog='mixed', description=__doc__)
    parser.add_argument('--keep', type=pathlib.Path, metavar='DIR')
    options = parser.parse_args(argv)
    processes.end_by_sigterm()
    with tempfile.TemporaryDirectory() as temporary:
        state = (options.keep or pathlib.Path(temporary)).absolute()
        with clouds.running(state) as cloud:
            wrong = [*_differences(cloud)]
    for each in wrong:
        print(each)  # noqa: T201
    print(f'{len(wrong)} differences')  # noqa: T201
    return 1 if wrong else 0


def _differences(cloud):
    """Yield what is not as operators may expect it."""
    cloud.running.pop(REPLACED).stop()
    cloud.launch(cloud.stock_scheduler(clouds.CONTROLLERS[1]))
    names = {'nova-scheduler': clouds.CONTROLLERS}
    cloud.wait_until(lambda: accounts.is_up(cloud.layout, names), 'schedulers')
    tenant = tenants.User(cloud.layout, accounts.TENANTS[0])
    group = _hold(tenant, MEMBERS)
    refused = {
        path: _boot_until_active(tenant, group, path)
        for path in (f'w-{number}' for number in range(MEMBERS))
    }
    print(f'servers of members that were refused before: {refused}')  # noqa: T201
    ordinary = collections.Counter(
        _boot(tenant, None).status for _server in range(ORDINARY)
    )
    print(f'ordinary servers: {dict(ordinary)}')  # noqa: T201
    if ordinary != {'ACTIVE': ORDINARY}:
        yield f'ordinary servers: {ordinary}'
    log = cloud.state / 'log' / 'nova-scheduler-controller-2.log'
    told = log.read_text().count(REFUSAL)
    if told != sum(refused.values()) or not told:
        yield f'{told} refusals in the log of the stock scheduler'
    at_rest = rest.Rest(cloud)
    yield from at_rest.wait()
    yield from at_rest.violations()
    yield from at_rest.clean()


def _hold(tenant, members):
    """Create a group; return its id when it is held."""
    uuid = tenant.create_group(members)
    group = tenant.wait_for_decision(uuid)
    if group is None or group['status'] != 'HELD':
        raise RuntimeError(group)
    return uuid


def _boot_until_active(tenant, group, path):
    """Create a member's server; return how often it was refused."""
    hints = {'vrt_group': group, 'vrt_member': path}
    for refusals in range(MAX_ATTEMPTS):
        server = _boot(tenant, hints)
        if server.status == 'ACTIVE':
            return refusals
        server.delete()
    raise RuntimeError(f'{path} gets no server: {server.fault}')


def _boot(tenant, hints):
    uuid, server = tenant.boot(hints)
    if server is None:
        raise RuntimeError(f'server {uuid} is not built in time')
    return server


if __name__ == '__main__':
    sys.exit(main())
