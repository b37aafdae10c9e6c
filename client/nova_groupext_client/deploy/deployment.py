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

PARALLEL = 8
INTERVAL_SECONDS = 1

_State = member_states.State
_UNDER_WAY = ('HELD', 'ACTIVE')
_NOT_HELD = ('PLANNED', 'REFUSED', 'UNDECIDED', 'ERROR')
# Statuses of servers whose creation has not finished.
_COMING = ('BUILD', 'UNKNOWN')


class Changed(Exception):
    """The group no longer has the topology that the template describes."""

    def __init__(self, group):
        super().__init__(
            f'Group {group.name} was changed meanwhile; run '
            f'`openstack vrt group show {group.id}`.'
        )


# A response that is not JSON raises ValueError.
FAULTS = (
    Changed,
    exceptions.SDKException,
    ksa_exceptions.ClientException,
    names.UnknownName,
    ValueError,
)
# Maximum time without a successful status request for any server.
_PATIENCE_SECONDS = 60
_CREATE_TRIES = 2
# A member may become a server after it is read and before it is released.
_RELEASE_TRIES = 3


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
        parallel=PARALLEL,
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
            with names.placed(self.topology, path):
                self._servers.body('', path, arguments)
        # A repeated creation request with this token returns the same group.
        self._token = str(uuid.uuid4())
        self._last_seen = None
        self._threads = threads.Threads(parallel)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self._threads.end()

    def describe(self, **attributes):
        """Create the group and wait for its plan.

        :param attributes: attributes of the group, besides its topology
        :raises: NotPlanned, Changed, HttpException
        """
        self._threads.call(self._create_group, attributes)
        self._wait()

    def resume(self, group):
        """Continue with an existing group; hold it if necessary.

        :param group: VrtGroup with the template's topology
        :raises: NotPlanned, Changed, HttpException
        """
        self.group = group
        if group.status in _NOT_HELD:
            self._threads.call(self._vrt.hold_group, group)
        self._wait()

    def forget(self):
        """Delete the group, if it exists, and stop the worker threads.

        A failed deletion leaves ``group`` set and is suppressed, so that it
        does not hide the result of planning.
        """
        # A creation request may be in flight.
        self._threads.end()
        if self.group is not None:
            with contextlib.suppress(*FAULTS):
                self._vrt.delete_group(self.group.id)
                self.group = None

    def create(self):
        """Create the servers of all held members, and wait for them."""
        self._find()
        self._each(self._create, self._in(_State.HELD))
        self._last_seen = time.monotonic()
        while True:
            self._each(self._look, self._in(_State.BUILDING))
            if not self._in(_State.BUILDING):
                break
            time.sleep(self._interval)

    def release(self):
        """Release the holds of failed members."""
        failed = {each.path for each in self._in(_State.FAILED)}
        if failed:
            self._threads.call(self._release, failed)

    def _create_group(self, attributes):
        for tries_left in reversed(range(_CREATE_TRIES)):
            try:
                self.group = self._vrt.create_group(
                    topology=self.topology,
                    client_token=self._token,
                    **attributes,
                )
                return
            except ksa_exceptions.ConnectionError:
                # The group may exist: perhaps only the response was lost.
                if not tries_left:
                    raise

    def _wait(self):
        self._vrt.wait_for_group(
            self.group, interval=self._interval, callback=self._see
        )
        # Another client may revise the group meanwhile; the template has no
        # server arguments for the members of another topology.
        if self.group.topology != self.topology:
            raise Changed(self.group)
        if self.group.status not in (*_UNDER_WAY, 'PLANNED'):
            raise NotPlanned(self.group)

    def _see(self, group):
        self.group = group
        self.members = member_states.of(group)
        self._tell()

    def _find(self):
        """Record the servers that an earlier run created."""
        found = self._threads.call(self._servers.of, self.group.id)
        for member in self._in(_State.HELD):
            member.server_id = found.get(member.path)
            if member.server_id is not None:
                member.state = _State.BUILDING

    def _create(self, member):
        try:
            member.server_id = self._servers.create(
                self.group.id, member.path, self._arguments[member.path]
            )
            member.state = _State.BUILDING
        except FAULTS as exc:
            self._fail(member, getattr(exc, 'details', None) or str(exc))

    def _look(self, member):
        try:
            status, fault = self._servers.look(member.server_id)
        except FAULTS:
            if time.monotonic() - self._last_seen > _PATIENCE_SECONDS:
                raise
            return  # The next status request may succeed.
        self._last_seen = time.monotonic()
        if status in ('ERROR', 'GONE'):
            self._fail(member, fault or 'The server is in state ERROR.')
        elif status not in _COMING:
            member.state = _State.ACTIVE

    def _release(self, failed):
        for tries_left in reversed(range(_RELEASE_TRIES)):
            now = self._vrt.get_group(self.group.id)
            held = [
                each['path']
                for each in now.members
                if each['path'] in failed and each['status'] == 'HELD'
            ]
            try:
                if held:
                    self._vrt.release_group(now.id, held)
                return
            except exceptions.ConflictException:
                if not tries_left:
                    raise

    @staticmethod
    def _fail(member, fault):
        member.fault = fault
        member.state = _State.FAILED

    def _in(self, state):
        return [each for each in self.members.values() if each.state == state]

    def _each(self, function, members):
        """Call a function for each member; report progress after each call."""
        for _done in self._threads.each(function, members):
            self._tell()

    def _tell(self):
        self._show(list(self.members.values()))
