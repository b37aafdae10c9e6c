# SPDX-License-Identifier: Apache-2.0
"""The calls of ``conn.vrt``.

Wherever a group is asked for, its id or a VrtGroup will do. What the cloud
refuses is raised as one of :mod:`openstack.exceptions`.
"""

import time
import types
from urllib import parse

from openstack import exceptions
from openstack import proxy
from openstack import resource

from nova_groupext_client import ids
from nova_groupext_client import relaxing
from nova_groupext_client import words
from nova_groupext_client.sdk import vrt_capabilities
from nova_groupext_client.sdk import vrt_group
from nova_groupext_client.sdk import vrt_member
from nova_groupext_client.sdk import vrt_proposal

FAILURES = ('REFUSED', 'UNDECIDED', 'ERROR')
_DETAIL = '/os-vrt-groups/detail'


class Proxy(proxy.Proxy):
    # The endpoint is what compute has found.
    skip_discovery = True
    api_version = '1'

    _resource_registry = {
        'vrt_capabilities': vrt_capabilities.VrtCapabilities,
        'vrt_group': vrt_group.VrtGroup,
        'vrt_member': vrt_member.VrtMember,
        'vrt_proposal': vrt_proposal.VrtProposal,
    }

    # What the cloud can do

    def get_capabilities(self):
        """Return the VrtCapabilities of this cloud."""
        return self._get(vrt_capabilities.VrtCapabilities, requires_id=False)

    # Groups

    def groups(self, details=True, **query):
        """Yield the project's groups.

        :param details: with False only ids, names, states and generations
        :param query: ``name``, ``status``, ``member_status``, ``server_id``,
            ``client_token``, ``changes_since``, ``sort_key``, ``sort_dir``,
            ``limit`` (the size of a page), ``marker``, and for admins
            ``all_projects`` and ``project_id``
        """
        path = _DETAIL if details else None
        return self._list(vrt_group.VrtGroup, base_path=path, **query)

    def get_group(self, group):
        """Return a VrtGroup as it is now.

        :raises: NotFoundException
        """
        return self._get(vrt_group.VrtGroup, group, skip_cache=True)

    def find_group(self, name_or_id, ignore_missing=False):
        """Return the VrtGroup of this name or id.

        :param ignore_missing: return None instead of raising
        :raises: NotFoundException, DuplicateResource for an ambiguous name
        """
        # What is no id may be a word that is a path of its own.
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
        """Describe a group, to have it planned and held.

        :param attrs: ``name`` and ``topology``, and perhaps ``description``,
            ``hold``, ``expires_in`` and ``client_token``
        :returns: VrtGroup, which is PLANNING; see :meth:`wait_for_group`
        """
        return self._create(vrt_group.VrtGroup, **attrs)

    def update_group(self, group, **attrs):
        """Revise a group, to have it planned again around its servers.

        Without ``topology`` only what is said of it changes.

        :param attrs: ``topology``, ``name``, ``description``,
            ``expires_in``, ``generation``, and ``keep_server``: whether
            servers may be left out, and run on. Without ``generation`` that
            of a VrtGroup counts, or for an id the newest.
        :returns: VrtGroup; see :meth:`wait_for_group`
        :raises: ConflictException when it has changed in between
        """
        found = self._get_resource(vrt_group.VrtGroup, group)
        if found.generation is not None:
            # What was read before is what is revised, also if it was listed.
            attrs = {'generation': found.generation, **attrs}
        else:
            found = self.get_group(found.id)
        return found.revise(self, **attrs)

    def relax_group(self, group, number=1):
        """Revise a group as its refusal proposes.

        Or as the refusal of its revision does, if that has no plan.

        :param number: which of the ``relaxations`` to take, from 1 on
        :returns: VrtGroup; see :meth:`wait_for_group`
        :raises: NotFoundException when there is no such proposal,
            ConflictException when the group has changed in between
        """
        found = self.get_group(group)
        refused = found
        topology = found.topology
        if found.refusal is None and found.revision:
            topology = found.revision['topology']
            refused = types.SimpleNamespace(**found.revision)
        relaxations = (refused.refusal or {}).get('relaxations', [])
        if not 0 < number <= len(relaxations):
            raise exceptions.NotFoundException(
                f'The group {found.name} ({found.id}) has '
                f'{len(relaxations)} proposals of what would help, and no '
                f'number {number}'
            )
        change = relaxations[number - 1]['change']
        return self.update_group(
            found, topology=relaxing.relaxed(topology, change)
        )

    def delete_group(self, group, ignore_missing=True):
        """Give back what is held and forget the group; its servers go on."""
        self._delete(vrt_group.VrtGroup, group, ignore_missing=ignore_missing)

    def hold_group(self, group, generation=None):
        """Keep what was only planned, or try once more.

        :param generation: the one that was seen last; the group is not
            touched if it has another one now. All actions take it.
        :raises: ConflictException when it has
        """
        self._act(group, 'hold', generation=generation)

    def release_group(self, group, members=None, generation=None):
        """Give up members that are no servers.

        :param members: their paths, all of them if left out
        """
        self._act(group, 'release', members=members, generation=generation)

    def replan_group(self, group, members=None, generation=None):
        """Decide again where the members are to be that are no servers.

        :param members: the paths of those that may move, all if left out
        """
        self._act(group, 'replan', members=members, generation=generation)

    def extend_group(self, group, expires_in=None, generation=None):
        """Keep what is held for longer.

        :param expires_in: seconds from now, the group's own if left out
        """
        self._act(
            group, 'extend', expires_in=expires_in, generation=generation
        )

    def adopt_servers(self, group, servers, generation=None):
        """Let servers that run already become members.

        It is a revision of the group: see :meth:`wait_for_group`.

        :param servers: {path of a member: id of its server}
        """
        self._act(group, 'adopt', servers=servers, generation=generation)

    def boot_group(self, group, servers=None, generation=None):
        """Have Nova create the servers of all members that are held.

        That goes on behind the answer: see :meth:`wait_for_boot`.

        :param servers: {path, name of a counted member, or ``default``: what
            ``POST /servers`` takes}
        """
        self._act(group, 'boot', servers=servers, generation=generation)

    def wait_for_boot(self, group, interval=1, wait=None):
        """Wait until Nova has been asked for all servers of a group.

        :param interval: seconds between looks
        :param wait: seconds after which to give up, None for never
        :returns: VrtGroup, whose ``boot`` tells what went wrong
        :raises: ResourceTimeout when the time is over
        """
        return _poll(
            lambda: self.get_group(group),
            lambda found: not found.is_booting,
            lambda found: f'The servers of {found.id} are not created',
            *(interval, wait),
        )

    def propose_moves(self, group, interval=1, wait=60):
        """Ask what to move for policies to hold, and wait for the answer.

        :param interval: seconds between looks
        :param wait: seconds after which to give up, None for never
        :returns: VrtProposal
        :raises: ResourceTimeout when the time is over
        """
        self._act(group, 'propose')
        return _poll(
            lambda: self.get_proposal(group),
            lambda found: not found.is_planning,
            lambda _found: f'Nothing is proposed for {_id(group)}',
            *(interval, wait),
        )

    def get_proposal(self, group):
        """Return the VrtProposal that was asked for last.

        :raises: NotFoundException when nobody has asked
        """
        return self._get(
            vrt_proposal.VrtProposal,
            requires_id=False,
            group_id=_id(group),
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
        """Wait until a group has one of some states, or is planned.

        :param status: a state, or several; left out, any that the planners
            leave it in, and ``failures`` are none
        :param failures: states in which there is nothing to wait for
        :param interval: seconds between looks
        :param wait: seconds after which to give up, None for never
        :param callback: called with the VrtGroup at each look
        :returns: VrtGroup
        :raises: ResourceFailure when it is in one of ``failures``,
            ResourceTimeout when the time is over, NotFoundException when it
            was deleted
        """
        wanted = (status,) if isinstance(status, str) else status

        def look():
            found = self.get_group(group)
            if callback is not None:
                callback(found)
            return found

        def is_over(found):
            if wanted is None:
                return not found.is_planning
            if found.status in failures and found.status not in wanted:
                raise exceptions.ResourceFailure(
                    '\n'.join([_is(found), *words.reasons(found)])
                )
            return found.status in wanted

        return _poll(
            look,
            is_over,
            lambda found: _is(found, 'still '),
            *(interval, wait),
        )

    # Members

    def members(self, group):
        """Yield the VrtMembers of a group."""
        return self._list(vrt_member.VrtMember, group_id=_id(group))

    def get_member(self, group, path):
        """Return the VrtMember at a path.

        :raises: NotFoundException
        """
        return self._get(
            vrt_member.VrtMember, _in_url(path), group_id=_id(group)
        )

    def create_member(self, group, **attrs):
        """Add a member, or some more of those that are counted.

        It is a revision of the whole group: see :meth:`wait_for_group`.

        :param attrs: ``path``, and what describes it: ``flavor``, ``image``
            and so on, or only ``count`` for some more
        """
        self._create(
            vrt_member.VrtMember,
            group_id=_id(group),
            **attrs,
        )

    def delete_member(
        self, group, path, ignore_missing=True, keep_server=False
    ):
        """Remove a member: of those that are counted the last one, or all.

        It is a revision of the whole group: see :meth:`wait_for_group`.

        :param keep_server: whether it may be a server, which runs on
        """
        member = self._get_resource(
            vrt_member.VrtMember, _in_url(path), group_id=_id(group)
        )
        try:
            member.remove(self, keep_server)
        except exceptions.NotFoundException:
            if not ignore_missing:
                raise

    def _act(self, group, action, **given):
        found = self._get_resource(vrt_group.VrtGroup, group)
        return found.act(self, action, **given)


def _poll(look, is_over, failure, interval, wait):
    """Look until something is over, and return what was seen last.

    :param failure: says of what was seen last what is wrong with it, when
        the time is over
    :raises: ResourceTimeout
    """
    deadline = None if wait is None else time.monotonic() + wait
    while not is_over(found := look()):
        if deadline is not None and time.monotonic() >= deadline:
            raise exceptions.ResourceTimeout(
                f'{failure(found)} after {wait} seconds'
            )
        time.sleep(interval)
    return found


def _is(group, still=''):
    return f'The group {group.name} ({group.id}) is {still}{group.status}'


def _id(value):
    return resource.Resource._get_id(value)


def _in_url(path):
    """Return the path of a member, or of a VrtMember, as part of a URL."""
    return parse.quote(_id(path))
