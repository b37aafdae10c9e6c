# SPDX-License-Identifier: Apache-2.0
"""SDK resource of a VRT group."""

from openstack import exceptions
from openstack import resource
from openstack import utils


class VrtGroup(resource.Resource):
    """Servers that are placed together, with their current states."""

    resource_key = 'vrt_group'
    resources_key = 'vrt_groups'
    base_path = '/os-vrt-groups'

    allow_create = True
    allow_fetch = True
    allow_list = True

    _query_mapping = resource.QueryParameters(
        'name',
        'status',
        'member_status',
        'server_id',
        'client_token',
        'project_id',
        'all_projects',
        'sort_key',
        'sort_dir',
        changes_since='changes-since',
    )

    # Properties
    #: Progress of the creation of the servers: a dictionary with ``status``
    #: (booting, done or stopped), ``request_id``, ``created_at``,
    #: ``updated_at``, ``missing``, ``created``, ``faults`` (a list of
    #: dictionaries with ``path`` and ``fault``) and ``fault``; None if the
    #: group was never booted. In a create request, the templates of the
    #: servers: ``{"servers": {...}}``.
    boot = resource.Body('boot', type=dict)
    #: Any text that makes creation idempotent: a repeated request returns
    #: the group that the first one created. Write-only.
    client_token = resource.Body('client_token')
    #: Cost of the plan, a dictionary; only shown to admins.
    cost = resource.Body('cost', type=dict)
    #: Time of creation, an ISO 8601 text.
    created_at = resource.Body('created_at')
    #: Any text.
    description = resource.Body('description')
    #: Strict policies that are violated at present, a list of dictionaries
    #: with the keys ``at`` and ``policy``.
    drift = resource.Body('drift', type=list)
    #: Last events of the group, newest first: a list of dictionaries with
    #: ``event``, ``created_at``, ``request_id``, ``user_id``, ``project_id``
    #: and ``message``. Events that no request caused directly have None for
    #: the three ids.
    events = resource.Body('events', type=list)
    #: Time at which the holds expire, an ISO 8601 text or None.
    expires_at = resource.Body('expires_at')
    #: Number of seconds for which capacity is held. Write-only.
    expires_in = resource.Body('expires_in', type=int)
    #: Reason why the group is UNDECIDED, in ERROR or waiting: a dictionary
    #: with ``code``, ``message`` and ``created``, or None.
    fault = resource.Body('fault', type=dict)
    #: Number that grows with every change; a revision names the one that
    #: its sender last read.
    generation = resource.Body('generation', type=int)
    #: True to hold the planned capacity, False for a plan only. Write-only.
    hold = resource.Body('hold', type=bool)
    #: Members of the group: a list of dictionaries with the keys ``path``,
    #: ``status``, ``server_id``, ``domains`` ({level: id}), ``fault``,
    #: ``resize`` (``from``, ``to`` and ``held``, or None), and ``host`` for
    #: admins.
    members = resource.Body('members', type=list)
    #: Id of the project that owns the group.
    project_id = resource.Body('project_id')
    #: Proof that no plan is possible: a dictionary with the keys
    #: ``conflict``, ``minimal``, ``reason`` and ``relaxations``; None for a
    #: group that is not REFUSED.
    refusal = resource.Body('refusal', type=dict)
    #: Pending revision of the group: a dictionary with ``status``, ``name``,
    #: ``description``, ``created_at``, ``topology``, ``servers``,
    #: ``held_again``, ``fault`` and ``refusal``; None without one.
    revision = resource.Body('revision', type=dict)
    #: Statistics of the planner, a dictionary; only shown to admins.
    stats = resource.Body('stats', type=dict)
    #: PLANNING, PLANNED, HELD, ACTIVE, REFUSED, UNDECIDED, ERROR or RELEASED.
    status = resource.Body('status')
    #: Definition of the group: a dictionary with ``members``, ``groups``,
    #: ``policies`` and ``relationships``.
    topology = resource.Body('topology', type=dict)
    #: Ids of its subgroups, by path: they stay the same.
    subgroups = resource.Body('subgroups', type=dict)
    #: Time of the last change, an ISO 8601 text.
    updated_at = resource.Body('updated_at')
    #: Id of the user who created the group.
    user_id = resource.Body('user_id')
    #: Soft policies that the plan does not fully meet, a list of dictionaries
    #: with the keys ``at`` and ``policy``.
    violations = resource.Body('violations', type=list)

    def revise(self, session, **attrs):
        """Send a revised definition; omitted attributes stay as they are.

        Without ``topology`` the planner does not plan the group again.

        :param attrs: ``topology``, ``name``, ``description``,
            ``expires_in``, ``keep_server``, and ``generation``, by default
            the one of self
        :raises: ConflictException for another generation or a wrong status
        """
        if attrs.get('generation') is None:
            attrs['generation'] = self.generation
        response = session.put(
            utils.urljoin(self.base_path, self.id),
            json={self.resource_key: attrs},
        )
        self._translate_response(response)
        return self

    def act(self, session, action, **parameters):
        """Send an action.

        :param parameters: parameters under the API's names; None omits one
        :returns: requests.Response
        """
        parameters = {
            name: value
            for name, value in parameters.items()
            if value is not None
        }
        response = session.post(
            utils.urljoin(self.base_path, self.id, 'action'),
            json={action: parameters or None},
        )
        exceptions.raise_from_response(response)
        return response

    def remove(self, session, generation=None):
        """Delete the group.

        :param generation: generation that the caller last read, None for any
        """
        response = session.delete(
            utils.urljoin(self.base_path, self.id),
            params={'generation': generation} if generation else {},
        )
        exceptions.raise_from_response(response)

    @property
    def is_booting(self):
        """True while a boot creates servers, or waits for the holds."""
        return (self.boot or {}).get('status') == 'booting'

    @property
    def is_planning(self):
        """True while the group or its revision is PLANNING."""
        revision = self.revision or {}
        return 'PLANNING' in (self.status, revision.get('status'))
