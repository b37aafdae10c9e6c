# SPDX-License-Identifier: Apache-2.0
"""Definition of the group of a resource, as its stack describes it."""

import contextlib

from heat.common import exception
from heat.engine import node_data
from heat.engine import stk_defn

from nova_groupext_client.heat import client_plugin
from nova_groupext_client.heat import requirements
from nova_groupext_client.heat import stack_servers
from nova_groupext_client.heat import topology


def describe(resource, props, *, group=None, is_final=True):
    """Return the group's attributes in the form of the API.

    :param resource: vrt_group.VRTGroup
    :param props: properties of the resource
    :param group: VrtGroup of the SDK as it is, if it exists
    :param is_final: whether all values are known that it is made of
    :raises: StackValidationFailed
    """
    return {
        'name': props[resource.NAME] or resource.physical_resource_name(),
        'description': props[resource.DESCRIPTION] or '',
        'expires_in': props[resource.EXPIRES_IN] or _default_expiry(resource),
        'topology': _topology(resource, props, group, is_final),
    }


def _default_expiry(resource):
    """Return the stack's timeout, or what the cloud allows if that is less."""
    longest = resource.client_plugin().limits()['max_expires_in']
    return min(resource.stack.timeout_secs(), longest)


def _topology(resource, props, group, is_final):
    servers = _servers(resource, is_final)
    told = props[resource.MEMBERS]
    if not is_final and (told or not servers):
        # Values that are not known yet may hide any number of servers.
        is_final = not requirements.find(resource.stack, resource.name)
    if is_final and not servers:
        raise exception.StackValidationFailed(
            message='No server names the group in its scheduler_hints.',
            resource=resource,
        )
    members = group.members if group else ()
    known = [each for each in servers if each.path]
    try:
        return topology.build(
            known,
            groups=props[resource.GROUPS],
            members=told if is_final else None,
            policies=props[resource.POLICIES],
            relationships=props[resource.RELATIONSHIPS],
            successors=[each['path'] for each in members if each['successor']],
        )
    except topology.Mismatch as exc:
        raise exception.StackValidationFailed(
            message=str(exc), resource=resource
        ) from exc


def _servers(resource, is_final):
    """Return the servers that name the group, each a topology.Server."""
    stack = resource.stack
    group_id = resource.resource_id or f'{stack.id}/{resource.name}'
    with _known_as(resource, group_id):
        later = requirements.dependents(stack, resource.name)
        level = stack_servers.Level(stack, stack.id, is_final, later)
        return list(level.servers(group_id))


@contextlib.contextmanager
def _known_as(resource, group_id):
    """Make references to a resource resolve to a text."""
    stack, name = resource.stack.defn, resource.name
    before = stack._resource_data.get(name)
    known = node_data.NodeData(
        *(resource.id, name, resource.uuid, group_id, {}),
        *(resource.action, resource.status),
    )
    stk_defn.update_resource_data(stack, name, known)
    try:
        yield
    finally:
        stk_defn.update_resource_data(stack, name, before)


def check_policies(resource, described):
    """Check that the cloud has the types and scopes of all policies.

    Values that are not known yet are left to the API.

    :param described: topology in the form of the API
    :raises: StackValidationFailed
    """
    plugin = resource.client_plugin()
    checks = {'type': plugin.check_policy_type, 'scope': plugin.check_scope}
    for where, policy in topology.policies(described):
        for name, check in checks.items():
            if policy.get(name) is None:
                continue
            try:
                check(policy[name])
            except client_plugin.UnknownName as exc:
                raise exception.StackValidationFailed(
                    path=[*where, name], message=str(exc), resource=resource
                ) from exc
