# SPDX-License-Identifier: Apache-2.0
"""A VRT group."""

from openstack import exceptions
from openstack import resource
from openstack import utils


class VrtGroup(resource.Resource):
    """Servers that are placed together, and what has become of them."""

    resource_key = 'vrt_group'
    resources_key = 'vrt_groups'
    base_path = '/os-vrt-groups'

    allow_create = True
    allow_fetch = True
    allow_delete = True
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
    #: How far the creation of its servers has come: a dictionary with
    #: ``status`` (booting, done or stopped), ``request_id``, ``created_at``,
    #: ``updated_at``, ``missing``, ``created``, ``faults`` (a list of
    #: dictionaries with ``path`` and ``fault``) and ``fault``; None if nobody
    #: has booted the group. To create a group, the templates of its servers:
    #: ``{"servers": {...}}``.
    boot = resource.Body('boot', type=dict)
    #: Any text that makes it safe to create the group again: the answer is
    #: the group that an earlier try has made. Only given, never shown.
    client_token = resource.Body('client_token')
    #: What the plan costs, a dictionary; only shown to admins.
    cost = resource.Body('cost', type=dict)
    #: When the group was described, an ISO 8601 text.
    created_at = resource.Body('created_at')
    #: Any text.
    description = resource.Body('description')
    #: The strict policies that do not hold at present, a list of
    #: dictionaries with the keys ``at`` and ``policy``.
    drift = resource.Body('drift', type=list)
    #: When what is held is given back, an ISO 8601 text or None.
    expires_at = resource.Body('expires_at')
    #: For how many seconds places are kept. Only given, never shown.
    expires_in = resource.Body('expires_in', type=int)
    #: What broke, if the status is ERROR.
    fault = resource.Body('fault')
    #: A number that grows with every change; who revises the group names
    #: the one that they have seen.
    generation = resource.Body('generation', type=int)
    #: Whether to keep the places of the plan; False only asks for a plan.
    #: Only given, never shown.
    hold = resource.Body('hold', type=bool)
    #: What has become of each member: a list of dictionaries with the keys
    #: ``path``, ``status``, ``server_id``, ``domains`` ({level: id}),
    #: ``fault``, and ``host`` for admins.
    members = resource.Body('members', type=list)
    #: The project that the group belongs to.
    project_id = resource.Body('project_id')
    #: Why there can be no plan: a dictionary with the keys ``conflict``,
    #: ``minimal``, ``reason`` and ``relaxations``; None for a group that is
    #: not REFUSED.
    refusal = resource.Body('refusal', type=dict)
    #: What the group is to become, and why it has not yet: a dictionary with
    #: ``status``, ``name``, ``description``, ``topology``, ``servers``,
    #: ``held_again``, ``fault`` and ``refusal``; None if no revision is
    #: waiting.
    revision = resource.Body('revision', type=dict)
    #: How the plan was made, a dictionary; only shown to admins.
    stats = resource.Body('stats', type=dict)
    #: PLANNING, PLANNED, HELD, ACTIVE, REFUSED, UNDECIDED, ERROR or RELEASED.
    status = resource.Body('status')
    #: The description: a dictionary with ``members``, ``groups``,
    #: ``policies`` and ``relationships``.
    topology = resource.Body('topology', type=dict)
    #: When the group was last changed, an ISO 8601 text.
    updated_at = resource.Body('updated_at')
    #: Who has described the group.
    user_id = resource.Body('user_id')
    #: The soft policies that the plan does not wholly meet, a list of
    #: dictionaries with the keys ``at`` and ``policy``.
    violations = resource.Body('violations', type=list)

    def revise(self, session, **attrs):
        """Send a revised definition; what is left out stays as it is.

        Without a topology nothing is planned again.

        :param attrs: ``topology``, ``name``, ``description``,
            ``expires_in``, ``keep_server``, and ``generation``, by default
            the one of self
        :raises: ConflictException when the group has changed since
        """
        body = {'generation': self.generation, **attrs}
        response = session.put(
            utils.urljoin(self.base_path, self.id),
            json={self.resource_key: body},
        )
        self._translate_response(response)
        return self

    def act(self, session, action, **given):
        """Send an action; the names of its parameters are the API's own.

        :param given: those that are None are left out
        :returns: requests.Response
        """
        given = {name: it for name, it in given.items() if it is not None}
        response = session.post(
            utils.urljoin(self.base_path, self.id, 'action'),
            json={action: given or None},
        )
        exceptions.raise_from_response(response)
        return response

    @property
    def is_booting(self):
        """True while Nova creates its servers, or waits until it is held."""
        return (self.boot or {}).get('status') == 'booting'

    @property
    def is_planning(self):
        """Whether a planner has yet to answer about it or its revision."""
        revision = self.revision or {}
        return 'PLANNING' in (self.status, revision.get('status'))
