# SPDX-License-Identifier: Apache-2.0
"""Deployment of one template: hold, create servers, release failures."""

import contextlib
import time
import uuid

from keystoneauth1 import exceptions as ksa_exceptions
from openstack import exceptions

from nova_groupext_client.deploy import member_states
from nova_groupext_client.deploy import names
from nova_groupext_client.deploy import servers
from nova_groupext_client.deploy import threads

DEFAULT_THREADS = 8
INTERVAL_SECONDS = 1

_State = member_states.State
_IN_PROGRESS = ('HELD', 'ACTIVE')
_NOT_HELD = ('PLANNED', 'REFUSED', 'UNDECIDED', 'ERROR')
# Statuses of servers whose creation has not finished.
_BUILDING = ('BUILD', 'UNKNOWN')


class TopologyChanged(Exception):
    """The group no longer has the topology that the template describes."""

    def __init__(self, group):
        super().__init__(
            f'Group {group.name} was changed meanwhile; run '
            f'`openstack vrt group show {group.id}`.'
        )


# A response that is not JSON raises ValueError.
ERRORS = (
    TopologyChanged,
    exceptions.SDKException,
    ksa_exceptions.ClientException,
    names.UnknownName,
    ValueError,
)
# Maximum time without a successful status request for any server.
_STATUS_TIMEOUT_SECONDS = 60
_MAX_CREATE_ATTEMPTS = 2
# A member may become a server after it is read and before it is released.
_MAX_RELEASE_ATTEMPTS = 3


class NotPlanned(Exception):
    """The group has no usable plan; ``group`` contains the reasons."""

    def __init__(self, group):
        super().__init__(f'The group {group.name} is {group.status}')
        self.group = group


class Deployment:
    """Deployment of one template: a group and the servers of its members.

    Worker threads send the requests that create, hold or release. Python
    interrupts only the main thread, so each such request is completed.

    :ivar topology: the template's topology, with image ids
    :ivar group: VrtGroup as last read, None before its creation
    :ivar members: {path: member_states.Member}

    :param conn: openstack.connection.Connection with ``conn.vrt``
    :param template: template.Template
    :param show: called at each change, with [member_states.Member] of all
    :param parallel: number of worker threads
    :param interval: seconds between status requests
    :raises: UnknownName, TemplateError
    """

    def __init__(
        self,
        conn,
        template,
        show,
        parallel=DEFAULT_THREADS,
        interval=INTERVAL_SECONDS,
    ):
        self.group = None
        self.members = {}
        self._vrt = conn.vrt
        self._show = show
        self._interval = interval
        self._arguments = template.servers
        self._names = names.Names(conn)
        self._servers = servers.Servers(conn, self._names)
        self.topology = names.with_ids(template.definition, self._names)
        for path, arguments in self._arguments.items():
            # Detect unknown names before the first request changes anything.
            with names.json_path_added(self.topology, path):
                self._servers.body('', path, arguments)
        # A repeated creation request with this token returns the same group.
        self._token = str(uuid.uuid4())
        self._last_status_at = None
        self._threads = threads.Threads(parallel)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self._threads.shut_down()

    def describe(self, **attributes):
        """Create the group and wait for its plan.

        :param attributes: attributes of the group, besides its topology
        :raises: NotPlanned, Changed, HttpException
        """
        self._threads.call(self._create_group, attributes)
        self._wait_for_plan()

    def resume(self, group):
        """Continue with an existing group; hold it if necessary.

        :param group: VrtGroup with the template's topology
        :raises: NotPlanned, Changed, HttpException
        """
        self.group = group
        if group.status in _NOT_HELD:
            self._threads.call(self._vrt.hold_group, group)
        self._wait_for_plan()

    def delete_group(self):
        """Delete the group, if it exists, and stop the worker threads.

        A failed deletion leaves ``group`` set and is suppressed, so that it
        does not hide the result of planning.
        """
        # A creation request may be in flight.
        self._threads.shut_down()
        if self.group is not None:
            with contextlib.suppress(*ERRORS):
                self._vrt.delete_group(self.group.id)
                self.group = None

    def create(self):
        """Create the servers of all held members, and wait for them."""
        self._find_servers()
        self._last_status_at = time.monotonic()
        for _done in self._check_servers():
            # Silently: the servers of an earlier run may all be active.
            pass
        self._show_progress()
        for _done in self._threads.call_for_each(
            self._create, self._members_in(_State.HELD)
        ):
            self._show_progress()
        self._last_status_at = time.monotonic()
        while True:
            for _done in self._check_servers():
                self._show_progress()
            if not self._members_in(_State.BUILDING):
                break
            time.sleep(self._interval)

    def release(self):
        """Release the holds of failed members."""
        failed = {member.path for member in self._members_in(_State.FAILED)}
        if failed:
            self._threads.call(self._release, failed)

    def _create_group(self, attributes):
        for attempts_left in reversed(range(_MAX_CREATE_ATTEMPTS)):
            try:
                self.group = self._vrt.create_group(
                    topology=self.topology,
                    client_token=self._token,
                    **attributes,
                )
                return
            except ksa_exceptions.ConnectionError:
                # The group may exist: perhaps only the response was lost.
                if not attempts_left:
                    raise

    def _wait_for_plan(self):
        self._vrt.wait_for_group(
            self.group, interval=self._interval, callback=self._update_group
        )
        # Another client may revise the group meanwhile; the template has no
        # server arguments for the members of another topology.
        if self.group.topology != self.topology:
            raise TopologyChanged(self.group)
        if self.group.status not in (*_IN_PROGRESS, 'PLANNED'):
            raise NotPlanned(self.group)

    def _update_group(self, group):
        self.group = group
        self.members = member_states.members_of(group)
        # create() reads first which servers of an earlier run still build.
        if not self._members_in(_State.BUILDING):
            self._show_progress()

    def _find_servers(self):
        """Record the servers that an earlier run created."""
        server_ids = self._threads.call(
            self._servers.find_by_group, self.group.id
        )
        for member in self._members_in(_State.HELD):
            member.server_id = server_ids.get(member.path)
            if member.server_id is not None:
                member.state = _State.BUILDING

    def _create(self, member):
        try:
            member.server_id = self._servers.create(
                self.group.id, member.path, self._arguments[member.path]
            )
            member.state = _State.BUILDING
        except ERRORS as exc:
            self._fail(member, getattr(exc, 'details', None) or str(exc))

    def _check_servers(self):
        """Yield once for each building member, after its server was read."""
        return self._threads.call_for_each(
            self._check_server, self._members_in(_State.BUILDING)
        )

    def _check_server(self, member):
        try:
            status, fault = self._servers.get_status(member.server_id)
        except ERRORS:
            if (
                time.monotonic() - self._last_status_at
                > _STATUS_TIMEOUT_SECONDS
            ):
                raise
            return  # The next status request may succeed.
        self._last_status_at = time.monotonic()
        if status in ('ERROR', 'GONE'):
            self._fail(member, fault or 'The server is in state ERROR.')
        elif status not in _BUILDING:
            member.state = _State.ACTIVE

    def _release(self, failed_paths):
        for attempts_left in reversed(range(_MAX_RELEASE_ATTEMPTS)):
            now = self._vrt.get_group(self.group.id)
            held = [
                member['path']
                for member in now.members
                if member['path'] in failed_paths
                and member['status'] == 'HELD'
            ]
            try:
                if held:
                    self._vrt.release_group(now.id, held)
                return
            except exceptions.ConflictException:
                if not attempts_left:
                    raise

    @staticmethod
    def _fail(member, fault):
        member.fault = fault
        member.state = _State.FAILED

    def _members_in(self, state):
        return [
            member for member in self.members.values() if member.state == state
        ]

    def _show_progress(self):
        self._show(list(self.members.values()))
