# SPDX-License-Identifier: Apache-2.0
"""SDK proxy ``conn.vrt``."""

from openstack import exceptions

from nova_groupext_client import ids
from nova_groupext_client.sdk import _members
from nova_groupext_client.sdk import _relaxing
from nova_groupext_client.sdk import _waiting
from nova_groupext_client.sdk import vrt_capabilities
from nova_groupext_client.sdk import vrt_group
from nova_groupext_client.sdk import vrt_member
from nova_groupext_client.sdk import vrt_proposal

FAILURES = ('REFUSED', 'UNDECIDED', 'ERROR')
_DETAIL = '/os-vrt-groups/detail'


class Proxy(_members.MemberCalls):
    """Calls of the VRT group API.

    A parameter ``group`` takes the id of a group or a VrtGroup. Errors of the
    cloud are raised as :mod:`openstack.exceptions`.
    """

    # The compute proxy has discovered the endpoint.
    skip_discovery = True
    api_version = '1'

    _resource_registry = {
        'vrt_capabilities': vrt_capabilities.VrtCapabilities,
        'vrt_group': vrt_group.VrtGroup,
        'vrt_member': vrt_member.VrtMember,
        'vrt_proposal': vrt_proposal.VrtProposal,
    }

    # Capabilities

    def get_capabilities(self):
        """Return the VrtCapabilities of this cloud."""
        return self._get(vrt_capabilities.VrtCapabilities, requires_id=False)

    # Groups

    def groups(self, details=True, **query):
        """Yield the project's groups.

        :param details: False for id, name, status, generation and project
        :param query: ``name``, ``status``, ``member_status``, ``server_id``,
            ``client_token``, ``changes_since``, ``sort_key``, ``sort_dir``,
            ``limit`` (the size of a page), ``marker``, and for admins
            ``all_projects`` and ``project_id``
        """
        path = _DETAIL if details else None
        return self._list(vrt_group.VrtGroup, base_path=path, **query)

    def get_group(self, group):
        """Return the current VrtGroup.

        :raises: NotFoundException
        """
        return self._get(vrt_group.VrtGroup, group, skip_cache=True)

    def find_group(self, name_or_id, ignore_missing=False):
        """Return the VrtGroup with a name or id.

        :param ignore_missing: return None instead of raising
        :raises: NotFoundException, DuplicateResource for an ambiguous name
        """
        # A name must not become a URL: "detail" and "capabilities" are paths.
        if ids.is_id(name_or_id):
            return self._find(
                vrt_group.VrtGroup,
                name_or_id,
                ignore_missing=ignore_missing,
                list_base_path=_DETAIL,
            )
        named = list(self.groups(name=name_or_id))
        if len(named) > 1:
            raise exceptions.DuplicateResource(
                f'There are {len(named)} groups named {name_or_id}; use an '
                f'id: {", ".join(each.id for each in named)}'
            )
        if not named and not ignore_missing:
            raise exceptions.NotFoundException(
                f'No VrtGroup found for {name_or_id}'
            )
        return named[0] if named else None

    def create_group(self, **attrs):
        """Create a group; the planner plans it and holds its capacity.

        :param attrs: ``name`` and ``topology``, and perhaps ``description``,
            ``hold``, ``expires_in``, ``client_token`` and ``boot``
        :returns: VrtGroup, PLANNING unless an earlier request with this
            ``client_token`` created it; see :meth:`wait_for_group`
        """
        return self._create(vrt_group.VrtGroup, **attrs)

    def update_group(self, group, **attrs):
        """Revise a group; the planner plans it again around its servers.

        Without ``topology`` only other attributes change, without planning.

        :param attrs: ``topology``, ``name``, ``description``,
            ``expires_in``, ``keep_server`` (True to keep servers of removed
            members running), and ``generation``, by default that of the
            VrtGroup, or for an id the current one
        :returns: VrtGroup; see :meth:`wait_for_group`
        :raises: ConflictException for another generation or a wrong status
        """
        known_group = self._get_resource(vrt_group.VrtGroup, group)
        # A listed group is revised as it was read, not as it is now.
        if known_group.generation is None:
            known_group = self.get_group(known_group.id)
        return known_group.revise(self, **attrs)

    def relax_group(self, group, number=1, generation=None):
        """Apply a relaxation that the refusal of a group proposes.

        If the group has no refusal, use the one of its revision.

        :param number: number of the entry in ``relaxations``, from 1
        :param generation: as for :meth:`hold_group`
        :returns: VrtGroup; see :meth:`wait_for_group`
        :raises: NotFoundException when there is no such relaxation,
            ConflictException as for :meth:`update_group`
        """
        current = self.get_group(group)
        return self.update_group(
            current,
            topology=_relaxing.relax(current, number),
            generation=generation or current.generation,
        )

    def delete_group(self, group, ignore_missing=True, generation=None):
        """Delete a group and release its holds; its servers keep running.

        :param generation: as for :meth:`hold_group`
        """
        known_group = self._get_resource(vrt_group.VrtGroup, group)
        with _members.missing_ignored(ignore_missing):
            known_group.remove(self, generation)

    def hold_group(self, group, generation=None):
        """Hold a group that has no holds, after planning it again.

        :param generation: generation that the caller last read; the API
            rejects the action if the group has another one now
        :raises: ConflictException for another generation or a wrong status
        """
        self._act(group, 'hold', generation=generation)

    def release_group(self, group, members=None, generation=None):
        """Release members without a server.

        :param members: their paths, None for all
        """
        self._act(group, 'release', members=members, generation=generation)

    def replan_group(self, group, members=None, generation=None):
        """Plan the members without a server again.

        :param members: paths of the members that may move, None for all
        """
        self._act(group, 'replan', members=members, generation=generation)

    def extend_group(self, group, expires_in=None, generation=None):
        """Extend the time for which a group is held.

        :param expires_in: seconds from now, None for the group's own
        """
        self._act(
            group, 'extend', expires_in=expires_in, generation=generation
        )

    def adopt_servers(self, group, servers, generation=None):
        """Turn existing servers into members.

        The action revises the group: see :meth:`wait_for_group`.

        :param servers: {path of a member: id of its server}
        """
        self._act(group, 'adopt', servers=servers, generation=generation)

    def boot_group(self, group, servers=None, generation=None):
        """Start the creation of the servers of all held members by Nova.

        The creation continues after the response: see :meth:`wait_for_boot`.

        :param servers: {path, name of counted members, or ``default``:
            properties of a server, as ``POST /servers`` takes them}
        """
        self._act(group, 'boot', servers=servers, generation=generation)

    def wait_for_boot(self, group, interval=1, wait=None, callback=None):
        """Wait until a boot has ended; Nova may still build the servers.

        :param interval: seconds between polls
        :param wait: timeout in seconds, None for none
        :param callback: called with the VrtGroup at each poll
        :returns: VrtGroup, whose ``boot`` lists the faults
        :raises: ResourceTimeout
        """
        return _waiting.poll(
            lambda: self._get_and_report(group, callback),
            lambda current: not current.is_booting,
            lambda current: f'The servers of {current.id} were not created',
            *(interval, wait),
        )

    def propose_moves(self, group, interval=1, wait=60, generation=None):
        """Request server moves that restore broken policies, and wait.

        :param interval: seconds between polls
        :param wait: timeout in seconds, None for none
        :returns: VrtProposal
        :raises: ResourceTimeout
        """
        self._act(group, 'propose', generation=generation)
        return _waiting.poll(
            lambda: self.get_proposal(group),
            lambda proposal: not proposal.is_planning,
            lambda _found: (
                f'No proposal was computed for {_members.id_of(group)}'
            ),
            *(interval, wait),
        )

    def get_proposal(self, group):
        """Return the VrtProposal that was requested last.

        :raises: NotFoundException when none was requested
        """
        return self._get(
            vrt_proposal.VrtProposal,
            requires_id=False,
            group_id=_members.id_of(group),
        )

    def wait_for_group(
        self,
        group,
        status=None,
        failures=FAILURES,
        interval=1,
        wait=None,
        callback=None,
    ):
        """Wait until a group has a given status, or planning has ended.

        :param status: status, or several; None waits until neither the group
            nor its revision is PLANNING, and ignores ``failures``
        :param failures: statuses that end the wait with an error
        :param interval: seconds between polls
        :param wait: timeout in seconds, None for none
        :param callback: called with the VrtGroup at each poll
        :returns: VrtGroup
        :raises: ResourceFailure for one of ``failures`` that is not in
            ``status``, ResourceTimeout, NotFoundException when the group was
            deleted
        """
        statuses = (status,) if isinstance(status, str) else status
        return _waiting.poll(
            lambda: self._get_and_report(group, callback),
            lambda current: _waiting.has_status(current, statuses, failures),
            lambda current: _waiting.status_text(current, 'still '),
            *(interval, wait),
        )

    def _get_and_report(self, group, callback):
        """Return the current VrtGroup, after calling the callback with it."""
        current = self.get_group(group)
        if callback is not None:
            callback(current)
        return current

    def _act(self, group, action, **parameters):
        resource_ = self._get_resource(vrt_group.VrtGroup, group)
        return resource_.act(self, action, **parameters)
