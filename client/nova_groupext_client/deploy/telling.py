# SPDX-License-Identifier: Apache-2.0
"""What a person is told who has deployed, or has stopped it."""

from nova_groupext_client import words
from nova_groupext_client.deploy import states

_OPENSTACK = 'openstack vrt group'

# Statuses of members that a server would be refused for.
_WITHOUT_PLACE = ('TENTATIVE', 'FAILED', 'RELEASED')


def stopped(why, deployment, again):
    """Say what there is when it ended early, and what can be done now.

    :param why: sentence
    :param deployment: Deployment with a group
    :param again: the command line that goes on, to which a group is added
    :returns: text
    """
    group = deployment.group
    servers = [
        each.server_id
        for each in deployment.members.values()
        if each.server_id
    ]
    counts = states.counts(deployment.members.values())
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
    """Say that some have not become servers; None if all have.

    Whom the plan has left out, as its ``min_count`` allows, is not missed.

    :returns: text or None
    """
    members = deployment.members.values()
    missing = [
        each
        for each in members
        if each.state in (states.State.FAILED, states.State.RELEASED)
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
    """Say why nothing is held for a group that was to be deployed."""
    told = words.why_not(group, '--template FILE')
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
    """Say why a group that was only asked about has no plan."""
    if group.refusal:
        lines = ['It does not fit.', *words.refusal(group.refusal)]
    elif group.status == 'UNDECIDED':
        lines = ['It was neither planned nor proved impossible. Try again.']
    else:
        lines = [f'The group is {group.status}.', group.fault or '']
    return '\n'.join(lines)


def not_deleted(group):
    """Say that a group that was only asked about is still there."""
    return (
        f'Group {group.name} ({group.id}), of which nothing is held, could '
        f'not be deleted: {_OPENSTACK} delete {group.id}'
    )


def not_held_for_heat(group):
    """Say which members of a group Heat could not create; None if none."""
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
    """Name the soft policies that a plan does not wholly meet, as lines."""
    return [
        f'Not wholly met: {words.policy(each)}' for each in group.violations
    ]
