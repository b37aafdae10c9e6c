# SPDX-License-Identifier: Apache-2.0
"""A cloud at rest after a storm: does it keep the promises?

Placement, Nova and our tables are compared: each capacity has one owner, the
strict policies hold, no host is over its capacity, nothing is under way, and
what is refused or lost is explained.
"""

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import json
import re
import subprocess
import time

from nova import config as nova_config
from nova import objects as nova_objects

from nova_groupext.db import engine
from nova_groupext.objects import states
from tests.functional import invariants
from tests.real_cloud import accounts
from tests.real_cloud import cloud as clouds
from tests.storm_cloud import tenants
from tests.stress import allocation_audit

# The reaper finishes redeems that have been left for two minutes.
REST_SECONDS, PAUSE_SECONDS = 420, 5

GROUPS_AT_REST = (
    *(states.Group.HELD, states.Group.ACTIVE, states.Group.RELEASED),
    *(states.Group.REFUSED, states.Group.UNDECIDED, states.Group.ERROR),
)
# A fault of a server without hints that we would be to blame for.
OURS = re.compile(r'nova.groupext|\bVRT\b|\bvrt_|group member')
# Errors of a program, not of what it asks.
BUGS = (
    *('TypeError', 'AttributeError', 'KeyError', 'NameError', 'IndexError'),
    *('AssertionError', 'UnboundLocalError', 'ValueError'),
)
# Package of a frame; ours has a folder "nova", too.
PACKAGE = re.compile(
    r'File "(?:[^"]*/site-packages/|[^"]*?/)(nova|nova_groupext)/'
)
# In Placement's log
DELETED = re.compile(r'"DELETE /allocations/(\S+)" status: 204')
# oslo.log writes this before each line of a traceback.
PREFIX = re.compile(r'^\d{4}-\S+ \S+ \d+ [A-Z]+ \S+ ?', re.MULTILINE)


class Rest:
    """Checks of a real cloud.

    :param cloud: clouds.RealCloud, all of whose services run
    """

    def __init__(self, cloud: clouds.RealCloud):
        self._cloud = cloud
        self._admin = tenants.User(cloud.layout, 'admin')
        nova_config.parse_args(
            ['storm', '--config-file', str(cloud.state / 'nova.conf')],
            default_config_files=[],
        )
        nova_objects.register_all()
        engine.configure()
        self._placement = accounts.placement(cloud.layout)
        body = self._placement.get('/resource_providers').json()
        self._provider_of = {
            each['name']: each['uuid'] for each in body['resource_providers']
        }
        self._audit = allocation_audit.AllocationAudit(
            self._placement, [*self._provider_of.values()]
        )

    def wait(self) -> list[str]:
        """Wait until nothing is under way; return what still is.

        The reaper learns in its next round of servers that were deleted last.
        """
        return _wait(
            lambda: [
                *self._audit.leaks(),
                *self._unexplained(self._servers(), [*self._all_groups()]),
            ]
        )

    def violations(self) -> list[str]:
        """Return what breaks a promise."""
        servers, groups = self._servers(), [*self._all_groups()]
        given_back = self._given_back_by_nova()
        return [
            *self._audit.violations(),
            *self._wrong_hosts(servers, given_back),
            *self._unexplained(servers, groups),
            *self._broken_policies(servers, groups),
            *self._blamed_on_us(servers),
            *self._findings(servers, given_back),
            *self._bugs(),
        ]

    def clean(self) -> list[str]:
        """Delete all groups and servers; return what is left of ours."""
        for user in accounts.TENANTS:
            of = tenants.User(self._cloud.layout, user)
            for group in self._groups(of):
                _patiently(
                    of.request, 'DELETE', f'{tenants.GROUPS}/{group["id"]}'
                )
        for server in self._servers().values():
            _patiently(self._admin.nova.servers.delete, server.id)
        return _wait(self._left)

    # -- parts -------------------------------------------------------------

    def _servers(self):
        found = self._admin.nova.servers.list(
            search_opts={'all_tenants': True}, limit=-1
        )
        return {server.id: server for server in found}

    def _groups(self, user):
        body = user.request('GET', f'{tenants.GROUPS}/detail?limit=1000')
        return body['vrt_groups']

    def _all_groups(self):
        for user in accounts.TENANTS:
            of = tenants.User(self._cloud.layout, user)
            for group in self._groups(of):
                yield self._admin.request(
                    'GET', f'{tenants.GROUPS}/{group["id"]}'
                )['vrt_group']

    def _wrong_hosts(self, servers, given_back) -> Iterator[str]:
        """Compare Placement's allocations with the hosts of servers.

        A server that has just become ACTIVE stays so without an allocation if
        Nova takes its build for failed, as the answer of the database was
        lost.

        :param given_back: see _given_back_by_nova()
        """
        for server in servers.values():
            if server.status != 'ACTIVE' or _task(server):
                continue
            owned = self._allocations(server.id)
            if not owned and server.id in given_back:
                continue
            found = owned or self._left_with_migrations(server)
            if found.keys() != {self._provider_of[_host(server)]}:
                yield f'server {server.id} on {_host(server)} has {owned}'

    def _given_back_by_nova(self) -> set[str]:
        """Return the consumers whose allocations Nova itself has deleted.

        Requests of ours never delete: they replace, several at once.
        """
        log = self._cloud.state / 'log' / 'placement.log'
        return {*DELETED.findall(log.read_text(errors='replace'))}

    def _left_with_migrations(self, server) -> dict[str, Mapping]:
        """Return the allocations of the migrations of a server.

        Nova gives them back when a migration fails, but not if its database
        is away just then.
        """
        migrations = self._admin.nova.migrations.list(instance_uuid=server.id)
        return {
            provider: each
            for migration in migrations
            for provider, each in self._allocations(migration.uuid).items()
        }

    def _allocations(self, consumer) -> dict[str, Mapping]:
        """Return {provider: its allocation to a consumer}."""
        body = self._placement.get(f'/allocations/{consumer}').json()
        return body['allocations']

    @staticmethod
    def _unexplained(servers, groups) -> Iterator[str]:
        for group in groups:
            status = group['status']
            if status not in GROUPS_AT_REST:
                yield f'group {group["id"]} is {status}'
            elif status in ('UNDECIDED', 'ERROR') and not group['fault']:
                yield f'group {group["id"]} is {status} without a fault'
            elif status == 'REFUSED' and not group['refusal']:
                yield f'group {group["id"]} is REFUSED without a reason'
            for member in group['members']:
                lost = member['status'] == states.Member.FAILED
                if lost and not member['fault']:
                    yield (
                        f'member {member["path"]} of {group["id"]} is '
                        f'{member["status"]} without a fault'
                    )
                if (
                    member['status'] == states.Member.ACTIVE
                    and member['server_id'] not in servers
                ):
                    yield (
                        f'member {member["path"]} of {group["id"]} has a '
                        'server that is gone'
                    )

    def _broken_policies(self, servers, groups) -> Iterator[str]:
        """Evaluate strict policies over the hosts of members and servers."""
        racks = {
            host.name: host.rack
            for hosts in self._cloud.hosts.values()
            for host in hosts
        }
        for group in groups:
            hosts = [*_member_hosts(group, servers)]
            for policy in group['topology'].get('policies', ()):
                if not policy.get('strict', True):
                    continue
                domains = [
                    host if policy['scope'] == 'host' else racks[host]
                    for host in hosts
                ]
                told = {each['policy']['type'] for each in group['drift']}
                if (
                    not invariants.IS_MET[policy['type']](domains)
                    and policy['type'] not in told
                ):
                    yield f'{policy} of {group["id"]} is broken: {hosts}'

    @staticmethod
    def _blamed_on_us(servers) -> Iterator[str]:
        for server in servers.values():
            fault = getattr(server, 'fault', {})
            if (
                server.status == 'ERROR'
                and server.metadata.get('ordinary')
                and _is_our_fault(fault)
            ):
                yield f'ordinary server {server.id}: {fault["message"]}'

    def _findings(self, servers, given_back) -> Iterator[str]:
        """Yield the findings of ``holds audit``.

        Nova gives back the capacity of a failed build, although it may be
        unable to tell in its database that the build has failed.
        """
        done = subprocess.run(
            self._cloud.manage('holds', 'audit', '--json').words,
            capture_output=True,
            text=True,
        )
        for found in json.loads(done.stdout)['findings']:
            server = servers.get(found['consumer'])
            is_lost_build = (
                found['kind'] == 'server-without-allocation'
                and server is not None
                and (
                    server.status in ('BUILD', 'ERROR')
                    or server.id in given_back
                )
            )
            if not is_lost_build:
                yield f'audit: {found}'

    def _bugs(self) -> Iterator[str]:
        """Yield the ends of tracebacks in our code that a bug has caused."""
        for file in (self._cloud.state / 'log').glob('nova-*.log'):
            text = PREFIX.sub('', file.read_text(errors='replace'))
            for trace, error in _tracebacks(text):
                name = error.partition(':')[0]
                if name in BUGS and _is_ours(trace):
                    yield f'{file.name}: {error}'

    def _left(self):
        own = self._audit.own_consumers()
        return [f'consumer {each} is left' for each in own]


def _tracebacks(text) -> Iterator[tuple[str, str]]:
    """Yield (frames, error) of the tracebacks of a log without prefixes."""
    for part in text.split('Traceback (most recent call last):\n')[1:]:
        error = re.search(r'^[\w.]+.*', part, re.MULTILINE)
        if error:
            yield part[: error.start()], error.group()


def _is_our_fault(fault: Mapping[str, str]) -> bool:
    """Check whether we are to blame for the fault of a server without hints.

    :param fault: as Nova shows it to an admin, with a traceback as details;
        the lost database of a storm is no fault of ours
    """
    message = fault.get('message', '')
    return (
        any(bug in message for bug in BUGS)
        or bool(OURS.search(message) and not PACKAGE.search(message))
        or _is_ours(f'{message}\n{fault.get("details", "")}')
    )


def _is_ours(frames: str) -> bool:
    """Check whether our code, and not Nova's, was the last that ran."""
    packages = PACKAGE.findall(frames)
    return packages[-1:] == ['nova_groupext']


def _member_hosts(group, servers) -> Iterator[str]:
    for member in group['members']:
        server = servers.get(member['server_id'])
        if member['status'] == 'HELD':
            yield member['host']
        elif server is not None and _host(server):
            yield _host(server)


def _host(server):
    return getattr(server, 'OS-EXT-SRV-ATTR:host')


def _task(server):
    return getattr(server, tenants.TASK)


def _wait(read: Callable[[], list[str]]) -> list[str]:
    """Read until nothing is left, or the time is over; return what is."""
    deadline = time.monotonic() + REST_SECONDS
    while True:
        try:
            left = read()
        except tenants.AWAY as exc:
            left = [str(exc)]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(PAUSE_SECONDS)


def _patiently(call, *args):
    """Call a few times until the cloud answers."""
    for _attempt in range(5):
        with contextlib.suppress(tenants.Unavailable, *tenants.AWAY):
            return call(*args)
        time.sleep(1)
    return None
