# SPDX-License-Identifier: Apache-2.0
"""Texts for users about refusals, faults, revisions, boots and events."""

_GROUP = 'openstack vrt group'
_AGAIN = {
    'REFUSED': 'It may fit later, or with another definition.',
    'UNDECIDED': 'It was neither planned nor proved impossible in time.',
    'ERROR': 'Something broke.',
}


def why_not(group, source='--definition|--template FILE'):
    """Explain why a group, or its revision, has no plan and what would help.

    :param group: with the attributes of the SDK's VrtGroup
    :param source: options of ``group set`` that name a new definition
    :returns: text of one or more lines; None if planning has not failed
    """
    name = f'{group.name} ({group.id})'
    if group.status in _AGAIN:
        lines = [
            f'Group {name} is {group.status}.',
            *reasons(group),
            f'To try once more: {_GROUP} hold {group.id} --wait',
            f'To give it up:    {_GROUP} delete {group.id}',
            f'To change it:     {_GROUP} set {group.id} --wait {source}',
            *_how_to_relax(group.id, group.refusal),
        ]
    elif group.revision and group.revision['status'] in _AGAIN:
        lines = [
            f'The revision of group {name} has no plan; the group stays as '
            'it was.',
            *revision(group.revision),
            *_how_to_relax(group.id, group.revision['refusal']),
        ]
    else:
        return None
    return '\n'.join(lines)


def reasons(group):
    """Explain why a group is REFUSED, UNDECIDED or in ERROR.

    :returns: [line], empty for other states without a fault
    """
    return [*_reasons(group.status, group.fault, group.refusal)]


def revision(given):
    """Describe the status of a revision, and the reasons if it failed.

    :param given: ``revision`` of a group
    :returns: [line]
    """
    status = given['status']
    return [status, *_reasons(status, given['fault'], given['refusal'])]


def boot(given):
    """Describe the progress and the faults of a boot.

    :param given: ``boot`` of a group
    :returns: [line]
    """
    counts = f'{given["created"]} of {given["missing"]} created'
    return [
        f'{given["status"]}: {counts}',
        *([given['fault']['message']] if given['fault'] else []),
        *(
            f'{each["path"]}: {each["fault"]["message"]}'
            for each in given['faults']
        ),
    ]


def event(given):
    """Format an event as one line.

    :param given: one of the ``events`` of a group
    """
    return ' '.join(
        filter(
            None,
            (
                given['created_at'],
                given['event'],
                given['request_id'],
                given['user_id'] and f'by {given["user_id"]}',
                given['message'],
            ),
        )
    )


def refusal(given):
    """Describe the conflict of a refusal and the relaxations that help.

    :param given: ``refusal`` of a group
    :returns: [line]
    """
    lines = [given['reason']['text']] if given['reason'] else []
    rest = '' if given['minimal'] else ', though perhaps not all are needed'
    lines.append(f'What cannot be together{rest}:')
    lines += (f'  - {item["text"]}' for item in given['conflict'])
    if given['relaxations']:
        lines.append('What would help:')
        lines += (
            f'  {number}. {each["text"]}'
            for number, each in enumerate(given['relaxations'], 1)
        )
    return lines


def _how_to_relax(group_id, refused):
    if refused and refused['relaxations']:
        yield (
            'To do what would help, by its number: '
            f'{_GROUP} set {group_id} --wait --relax 1'
        )


def policy(given):
    """Name a violated policy: ``{'at': ..., 'policy': {...}}``."""
    where = given['at'] or 'the group'
    return f'{given["policy"]["scope"]} {given["policy"]["type"]} of {where}'


def _reasons(status, fault, refused):
    if fault:
        yield fault['message']
    if refused:
        yield from refusal(refused)
    elif status in _AGAIN:
        yield _AGAIN[status]
