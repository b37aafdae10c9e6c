# SPDX-License-Identifier: Apache-2.0
"""From a template to servers: hold, create all, release what failed."""

import contextlib
import time
import uuid

from keystoneauth1 import exceptions as ksa_exceptions
from openstack import exceptions

from nova_groupext_client.deploy import names
from nova_groupext_client.deploy import servers
from nova_groupext_client.deploy import states
from nova_groupext_client.deploy import threads

PARALLEL = 8
INTERVAL_SECONDS = 1

_State = states.State
_UNDER_WAY = ('HELD', 'ACTIVE')
_NOT_HELD = ('PLANNED', 'REFUSED', 'UNDECIDED', 'ERROR')
# States of servers that are not there yet.
_COMING = ('BUILD', 'UNKNOWN')


class Changed(Exception):
    """The group is no longer what the template describes."""

    def __init__(self, group):
        super().__init__(
            f'Group {group.name} was changed meanwhile; run '
            f'`openstack vrt group show {group.id}`.'
        )


# An answer that is no JSON is a ValueError.
FAULTS = (
    Changed,
    exceptions.SDKException,
    ksa_exceptions.ClientException,
    names.UnknownName,
    ValueError,
)
# For how long the cloud may not say how any server is.
_PATIENCE_SECONDS = 60
_CREATE_TRIES = 2
# A member may become a server between being looked at and released.
_RELEASE_TRIES = 3


class NotPlanned(Exception):
    """There is no plan for the group; ``group`` says why."""

    def __init__(self, group):
        super().__init__(f'The group {group.name} is {group.status}')
        self.group = group


class Deployment:
    """One template on its way.

    Requests are sent by other threads. So an interrupt, which Python gives to
    the main one, ends none in its middle: whatever was asked for is known.

    :ivar topology: what the template describes, with ids
    :ivar group: VrtGroup as it was seen last, None before there is one
    :ivar members: {path: states.Member}

    :param conn: openstack.connection.Connection with ``conn.vrt``
    :param template: template.Template
    :param show: called with states.Member of all members when they change
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
            # What cannot be sent had better be known before anything is.
            with names.placed(self.topology, path):
                self._servers.body('', path, arguments)
        # Who asks for the group twice gets one.
        self._token = str(uuid.uuid4())
        self._last_seen = None
        self._threads = threads.Threads(parallel)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self._threads.end()

    def describe(self, **attributes):
        """Describe the group and wait for its plan.

        :param attributes: of the group, besides its topology
        :raises: NotPlanned, Changed, HttpException
        """
        self._threads.call(self._create_group, attributes)
        self._wait()

    def resume(self, group):
        """Take up a group that was begun.

        :param group: VrtGroup which the template describes
        :raises: NotPlanned, Changed, HttpException
        """
        self.group = group
        if group.status in _NOT_HELD:
            self._threads.call(self._vrt.hold_group, group)
        self._wait()

    def forget(self):
        """Delete the group, if there is one, and end.

        If that fails the group is still here; it has an answer to give first.
        """
        # Its creation may be under way.
        self._threads.end()
        if self.group is not None:
            with contextlib.suppress(*FAULTS):
                self._vrt.delete_group(self.group.id)
                self.group = None

    def create(self):
        """Create the servers of all members that are held, and wait."""
        self._find()
        self._each(self._create, self._in(_State.HELD))
        self._last_seen = time.monotonic()
        while True:
            self._each(self._look, self._in(_State.BUILDING))
            if not self._in(_State.BUILDING):
                break
            time.sleep(self._interval)

    def release(self):
        """Give up what is held of members that have failed."""
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
                # Perhaps only the answer was lost.
                if not tries_left:
                    raise

    def _wait(self):
        self._vrt.wait_for_group(
            self.group, interval=self._interval, callback=self._see
        )
        # Others may revise it while it is waited for, and there is nothing
        # to create their members from.
        if self.group.topology != self.topology:
            raise Changed(self.group)
        if self.group.status not in (*_UNDER_WAY, 'PLANNED'):
            raise NotPlanned(self.group)

    def _see(self, group):
        self.group = group
        self.members = states.of(group)
        self._tell()

    def _find(self):
        """Find the servers that an earlier run has asked for."""
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
            return  # The next look may see more.
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
        """Call a function for members, and tell of them as they change."""
        for _done in self._threads.each(function, members):
            self._tell()

    def _tell(self):
        self._show(list(self.members.values()))
