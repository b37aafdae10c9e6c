# SPDX-License-Identifier: Apache-2.0
"""Messages for the user at the end of a deployment."""

from nova_groupext_client import sentences
from nova_groupext_client.deploy import member_states

_OPENSTACK = 'openstack vrt group'

# Statuses of members for which Nova refuses to create a server.
_WITHOUT_PLACE = ('TENTATIVE', 'FAILED', 'RELEASED')


def stopped(why, deployment, again):
    """Return the state of an interrupted deployment and the next commands.

    :param why: sentence
    :param deployment: Deployment with a group
    :param again: command line that continues, without ``--resume GROUP``
    :returns: text
    """
    group = deployment.group
    servers = [
        each.server_id
        for each in deployment.members.values()
        if each.server_id
    ]
    counts = member_states.counts(deployment.members.values())
    parts = ', '.join(f'{number} {state}' for state, number in counts.items())
    lines = [
        f'{why} Group {group.name} ({group.id}) stays as it is: '
        f'{parts or "not planned yet"}.',
        f'To go on:  {again} --resume {group.id}',
        f'To undo:   {_OPENSTACK} delete {group.id}',
    ]
    if servers:
        lines.append(f'           openstack server delete {" ".join(servers)}')
    return '\n'.join(lines)


def partial(deployment, again):
    """Return a message about members without a server, None without any.

    Members that the plan omits, as ``min_count`` allows, do not count.

    :param again: command line that continues, without ``--resume GROUP``
    """
    members = deployment.members.values()
    missing = [
        each
        for each in members
        if each.state
        in (member_states.State.FAILED, member_states.State.RELEASED)
    ]
    if not missing:
        return None
    group = deployment.group.id
    return (
        f'{len(missing)} of {len(members)} members have not become servers, '
        'and no places are kept for them. To try again:\n'
        f'  {_OPENSTACK} replan --wait {group} && {again} --resume {group}'
    )


def not_held(group):
    """Return the reason why a group to be deployed is not held."""
    told = sentences.why_not(group, '--template FILE')
    if told is not None:
        return (
            f'{told}\n'
            f'Then, to go on:   openstack vrt deploy FILE --resume {group.id}'
        )
    return (
        f'Group {group.name} ({group.id}) is {group.status}: nothing of it '
        f'is held. To hold it again: {_OPENSTACK} replan {group.id}'
    )


def does_not_fit(group):
    """Return the reason why a dry run's group has no plan."""
    if group.refusal:
        lines = ['It does not fit.', *sentences.refusal(group.refusal)]
    elif group.status == 'UNDECIDED':
        lines = ['It was neither planned nor proved impossible. Try again.']
    else:
        lines = [f'The group is {group.status}.', *sentences.reasons(group)]
    return '\n'.join(lines)


def not_deleted(group):
    """Return a message that a dry run's group could not be deleted."""
    return (
        f'Group {group.name} ({group.id}), of which nothing is held, could '
        f'not be deleted: {_OPENSTACK} delete {group.id}'
    )


def not_held_for_heat(group):
    """Return a message about members that are not held, None if all are."""
    missing = [
        f'{each["path"]} is {each["status"]}'
        for each in group.members
        if each['status'] in _WITHOUT_PLACE
    ]
    if not missing:
        return None
    return (
        f'Nothing is held for some members of group {group.name} '
        f'({group.id}): {", ".join(missing)}. Give the template the number '
        f'that is held, or try once more: {_OPENSTACK} replan {group.id}'
    )


def unmet(group):
    """Return a line for each soft policy that a plan violates."""
    return [
        f'Not wholly met: {sentences.policy(each)}'
        for each in group.violations
    ]
