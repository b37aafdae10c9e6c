# SPDX-License-Identifier: Apache-2.0
"""Messages for the user at the end of a deployment."""

from collections.abc import Collection

from nova_groupext_client import api_types
from nova_groupext_client import sentences
from nova_groupext_client.deploy import member_states

_OPENSTACK = 'openstack vrt group'

# Statuses of members for which Nova refuses to create a server.
_WITHOUT_HOLD = ('TENTATIVE', 'FAILED', 'RELEASED')

# States of members that have neither a server nor a hold
_WITHOUT_SERVER = (
    member_states.State.FAILED,
    member_states.State.RELEASED,
    member_states.State.NOT_HELD,
)


def stopped(
    reason: str,
    group: api_types.Group,
    members: Collection[member_states.Member],
    command: str,
) -> str:
    """Return the state of an interrupted deployment and the next commands.

    :param reason: sentence
    :param command: command line that continues, without ``--resume GROUP``
    """
    servers = [member.server_id for member in members if member.server_id]
    counts = member_states.counts(members)
    parts = ', '.join(f'{number} {state}' for state, number in counts.items())
    lines = [
        f'{reason} Group {group.name} ({group.id}) remains: '
        f'{parts or "not planned yet"}.',
        f'To continue:  {command} --resume {group.id}',
        f'To undo:      {_OPENSTACK} delete {group.id}',
    ]
    if servers:
        lines.append(
            f'              openstack server delete {" ".join(servers)}'
        )
    return '\n'.join(lines)


def exists(group: api_types.Group, command: str) -> str:
    """Return the reason not to deploy a template a second time.

    :param group: has the name of the new one
    :param command: command line that continues, without ``--resume GROUP``
    """
    return (
        f'Group {group.name} ({group.id}) exists and is {group.status}.\n'
        f'To continue:       {command} --resume {group.id}\n'
        f'To redeploy:       {_OPENSTACK} delete {group.id}, and delete its '
        'servers; then repeat the command\n'
        'To deploy another: repeat the command with --name <name>'
    )


def partial(
    group: api_types.Group,
    members: Collection[member_states.Member],
    command: str,
) -> str | None:
    """Return a message about members without a server, None without any.

    Members that the plan omits, as ``min_count`` allows, do not count.

    :param command: command line that continues, without ``--resume GROUP``
    """
    missing = [member for member in members if member.state in _WITHOUT_SERVER]
    if not missing:
        return None
    return (
        f'{len(missing)} of {len(members)} members have neither a server nor '
        'a hold. To retry:\n'
        f'  {_OPENSTACK} replan --wait {group.id} && '
        f'{command} --resume {group.id}'
    )


def not_held(group: api_types.Group) -> str:
    """Return the reason why a group to be deployed is not held."""
    explanation = sentences.explain_failure(
        group, '--template FILE', can_relax=False
    )
    if explanation is not None:
        return (
            f'{explanation}\n'
            'Then, to continue:  openstack vrt deploy FILE --resume '
            f'{group.id}'
        )
    return (
        f'Group {group.name} ({group.id}) is {group.status}: it has no held '
        f'members. To hold it again: {_OPENSTACK} replan {group.id}'
    )


def does_not_fit(group: api_types.Group) -> str:
    """Return the reason why a dry run's group has no plan."""
    if group.refusal:
        lines = [
            'The group does not fit.',
            *sentences.format_refusal(group.refusal),
        ]
    elif group.status == 'UNDECIDED':
        lines = [
            'Neither a plan nor a proof that none exists was found in '
            'time. Retry.'
        ]
    else:
        lines = [
            f'The group is {group.status}.',
            *sentences.failure_reasons(group),
        ]
    return '\n'.join(lines)


def not_deleted(group: api_types.Group) -> str:
    """Return a message that a dry run's group could not be deleted."""
    return (
        f'Group {group.name} ({group.id}), which has no held members, could '
        f'not be deleted. To delete it: {_OPENSTACK} delete {group.id}'
    )


def not_held_for_heat(group: api_types.Group) -> str | None:
    """Return a message about members that are not held, None if all are."""
    missing = [
        f'{member["path"]} is {member["status"]}'
        for member in group.members
        if member['status'] in _WITHOUT_HOLD
    ]
    if not missing:
        return None
    return (
        f'Some members of group {group.name} ({group.id}) are not held: '
        f'{", ".join(missing)}. Reduce the counts in the template to the '
        f'held members, or retry: {_OPENSTACK} replan {group.id}'
    )


def unmet_policies(group: api_types.Group) -> list[str]:
    """Return a line for each soft policy that a plan violates."""
    return [
        f'Soft policy not fully met: {sentences.format_policy(violation)}'
        for violation in group.violations
    ]
