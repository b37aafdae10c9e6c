# SPDX-License-Identifier: Apache-2.0
"""Deployment of one template: hold, create servers, release failures."""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import functools
import time
import typing
import uuid

from keystoneauth1 import exceptions as ksa_exceptions
from openstack import exceptions

from nova_groupext_client import api_types
from nova_groupext_client import passing_errors
from nova_groupext_client.deploy import member_states
from nova_groupext_client.deploy import names
from nova_groupext_client.deploy import servers
from nova_groupext_client.deploy import threads
from nova_groupext_client.template import hot

if typing.TYPE_CHECKING:
    from openstack import connection

DEFAULT_THREADS = 8
INTERVAL_SECONDS = 1

_State = member_states.State
_IN_PROGRESS = ('HELD', 'ACTIVE')
_NOT_HELD = ('PLANNED', 'REFUSED', 'UNDECIDED', 'ERROR')
# Statuses of servers whose creation has not finished.
_BUILDING = ('BUILD', 'UNKNOWN')


class TopologyChanged(Exception):
    """The group no longer has the topology that the template describes."""

    def __init__(self, group: api_types.Group) -> None:
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
# A member may become a server after it is read and before it is released, and
# nothing is released while a revision is put in force.
_MAX_RELEASE_ATTEMPTS = 30


class NotPlanned(Exception):
    """The group has no usable plan; ``group`` contains the reasons."""

    def __init__(self, group: api_types.Group) -> None:
        super().__init__(f'The group {group.name} is {group.status}')
        self.group = group


class Deployment:
    """Deployment of one template: a group and the servers of its members.

    Worker threads send the requests that create, hold or release. Python
    interrupts only the main thread, so each such request is completed.

    :ivar topology: the template's topology, with image ids
    :ivar group: the group as last read, None before its creation
    :ivar members: by path

    :param conn: has ``conn.vrt``
    :param show: called at each change, with all members
    :param parallel: number of worker threads
    :param interval: seconds between status requests
    :raises: UnknownName, TemplateError
    """

    def __init__(
        self,
        conn: 'connection.Connection',
        template: hot.Template,
        show: Callable[[list[member_states.Member]], None],
        parallel: int = DEFAULT_THREADS,
        interval: float = INTERVAL_SECONDS,
    ) -> None:
        self.group: api_types.Group | None = None
        self.members: dict[str, member_states.Member] = {}
        # Set with the group, and kept when it is deleted.
        self._group_id = ''
        self._vrt = conn.vrt
        self._show = show
        self._interval = interval
        self._template = template
        self._names = names.Names(conn)
        self._servers = servers.Servers(conn, self._names)
        self.topology = names.with_ids(template.definition, self._names)
        for path, arguments in template.servers.items():
            # Detect unknown names before the first request changes anything.
            with names.json_path_added(self.topology, path):
                self._servers.body('', path, arguments)
        # A repeated creation request with this token returns the same group.
        self._token = str(uuid.uuid4())
        self._last_status_at = time.monotonic()
        self._threads = threads.Threads(parallel)

    def __enter__(self) -> typing.Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self._threads.shut_down()

    def describe(self, **attributes: api_types.Json) -> api_types.Group:
        """Create the group, wait for its plan and return it.

        :param attributes: attributes of the group, besides its topology
        :raises: NotPlanned, TopologyChanged, HttpException
        """
        self._threads.call(self._create_group, attributes)
        return self._wait_for_plan()

    def resume(self, group: api_types.Group) -> None:
        """Continue with an existing group; hold what is not held any more.

        Members that were released stay so; create() serves failed ones.

        :param group: has the template's topology
        :raises: NotPlanned, TopologyChanged, HttpException
        """
        self._set_group(group)
        if group.status in _NOT_HELD:
            self._threads.call(self._vrt.hold_group, group)
        elif not group.is_planning and any(
            map(member_states.has_lost_hold, group.members)
        ):
            self._threads.call(self._vrt.replan_group, group)
        self._wait_for_plan()

    def delete_group(self) -> None:
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

    def create(self) -> None:
        """Create the servers of all held members, and wait for them.

        Also of members whose servers were deleted, or could not be built in an
        earlier run: creates place those again.
        """
        self._find_servers()
        self._last_status_at = time.monotonic()
        earlier = self._members_in(_State.BUILDING, _State.FAILED)
        for _done in self._check_servers():
            # Silently: the servers of an earlier run may all be active.
            pass
        for member in earlier:
            if member.state is _State.FAILED and member.is_unbuilt:
                member.state = _State.NOT_HELD
        self._show_progress()
        for _done in self._threads.call_for_each(
            self._create, self._members_in(_State.HELD, _State.NOT_HELD)
        ):
            self._show_progress()
        self._last_status_at = time.monotonic()
        while True:
            for _done in self._check_servers():
                self._show_progress()
            if not self._members_in(_State.BUILDING):
                break
            time.sleep(self._interval)

    def release(self) -> None:
        """Release the holds of failed members."""
        failed = {member.path for member in self._members_in(_State.FAILED)}
        if failed:
            self._threads.call(self._release, failed)

    def _create_group(self, attributes: api_types.Object) -> None:
        create = functools.partial(
            self._vrt.create_group,
            topology=self.topology,
            client_token=self._token,
            **attributes,
        )
        self._set_group(passing_errors.retried(create, self._interval))

    def _set_group(self, group: api_types.Group) -> None:
        self.group = group
        self._group_id = group.id

    def _wait_for_plan(self) -> api_types.Group:
        planned: api_types.Group = self._vrt.wait_for_group(
            self._group_id,
            interval=self._interval,
            callback=self._update_group,
        )
        # Another client may revise the group meanwhile; the template has no
        # server arguments for the members of another topology.
        if planned.topology != self.topology:
            raise TopologyChanged(planned)
        if planned.status not in (*_IN_PROGRESS, 'PLANNED'):
            raise NotPlanned(planned)
        return planned

    def _update_group(self, group: api_types.Group) -> None:
        self.group = group
        self.members = member_states.members_of(group)
        # create() reads first which servers of an earlier run still build.
        if not self._members_in(_State.BUILDING):
            self._show_progress()

    def _find_servers(self) -> None:
        """Record the servers that an earlier run created."""
        server_ids = self._threads.call(
            self._servers.find_by_group, self._group_id
        )
        for member in self._members_in(_State.HELD):
            member.server_id = server_ids.get(member.path)
            if member.server_id is not None:
                member.state = _State.BUILDING

    def _create(self, member: member_states.Member) -> None:
        try:
            member.server_id = self._create_server(member.path)
            member.state, member.fault = _State.BUILDING, None
        except ERRORS as exc:
            if passing_errors.is_passing(exc):
                # Nova has not refused the server: the member stays held.
                raise
            self._fail(member, getattr(exc, 'details', None) or str(exc))

    def _create_server(self, path: str) -> str:
        """Create the server of a member, as soon as Nova answers."""
        arguments = self._template.arguments(path)
        create = functools.partial(
            self._servers.create, self._group_id, path, arguments
        )
        try:
            return create()
        except ERRORS as exc:
            if not passing_errors.is_passing(exc):
                raise

        def find_or_create() -> str:
            # The server may exist: perhaps only the response was lost.
            found = self._servers.find_by_group(self._group_id).get(path)
            return found or create()

        time.sleep(self._interval)
        return passing_errors.retried(find_or_create, self._interval)

    def _check_servers(self) -> Iterator[None]:
        """Yield once for each building member, after its server was read."""
        return self._threads.call_for_each(
            self._check_server, self._members_in(_State.BUILDING)
        )

    def _check_server(self, member: member_states.Member) -> None:
        # A building member has a server.
        server_id = typing.cast(str, member.server_id)
        try:
            status, fault, is_on_host = self._servers.get_status(server_id)
        except ERRORS:
            if (
                time.monotonic() - self._last_status_at
                > _STATUS_TIMEOUT_SECONDS
            ):
                raise
            return  # The next status request may succeed.
        self._last_status_at = time.monotonic()
        if status == 'GONE':
            member.state, member.fault = _State.NOT_HELD, fault
        elif status == 'ERROR':
            member.is_unbuilt = not is_on_host
            self._fail(member, fault or 'The server is in state ERROR.')
        elif status not in _BUILDING:
            member.state = _State.ACTIVE

    def _release(self, failed_paths: set[str]) -> None:
        for attempts_left in reversed(range(_MAX_RELEASE_ATTEMPTS)):
            now: api_types.Group = self._vrt.get_group(self._group_id)
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
                time.sleep(self._interval)

    @staticmethod
    def _fail(member: member_states.Member, fault: str) -> None:
        member.fault = fault
        member.state = _State.FAILED

    def _members_in(
        self, *states: member_states.State
    ) -> list[member_states.Member]:
        return [
            member
            for member in self.members.values()
            if member.state in states
        ]

    def _show_progress(self) -> None:
        self._show(list(self.members.values()))
