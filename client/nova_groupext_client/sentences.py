# SPDX-License-Identifier: Apache-2.0
"""Texts for users about refusals, faults, revisions, boots, events, moves."""

_GROUP = 'openstack vrt group'
_DEFAULT_REASONS = {
    'REFUSED': 'The group may fit later, or with another definition.',
    'UNDECIDED': 'Neither a plan nor a proof that none exists was found in '
    'time.',
    'ERROR': 'An unexpected error occurred.',
}


def explain_failure(group, source='--definition|--template FILE'):
    """Explain why a group, or its revision, has no plan and what would help.

    :param group: with the attributes of the SDK's VrtGroup
    :param source: options of ``group set`` that name a new definition
    :returns: text of one or more lines; None if planning has not failed
    """
    name = f'{group.name} ({group.id})'
    if group.status in _DEFAULT_REASONS:
        lines = [
            f'Group {name} is {group.status}.',
            *failure_reasons(group),
            f'To retry:      {_GROUP} hold {group.id} --wait',
            f'To delete it:  {_GROUP} delete {group.id}',
            f'To change it:  {_GROUP} set {group.id} --wait {source}',
            *_relax_command(group.id, group.refusal),
        ]
    elif group.revision and group.revision['status'] in _DEFAULT_REASONS:
        lines = [
            f'The revision of group {name} has no plan; the group is '
            'unchanged.',
            *format_revision(group.revision),
            *_relax_command(group.id, group.revision['refusal']),
        ]
    else:
        return None
    return '\n'.join(lines)


def failure_reasons(group):
    """Explain why a group is REFUSED, UNDECIDED or in ERROR.

    :returns: [line], empty for other states without a fault
    """
    return [*_failure_reasons(group.status, group.fault, group.refusal)]


def format_revision(revision):
    """Describe the status of a revision, and the reasons if it failed.

    :param revision: ``revision`` of a group
    :returns: [line]
    """
    status = revision['status']
    return [
        status,
        *_failure_reasons(status, revision['fault'], revision['refusal']),
    ]


def format_boot(boot):
    """Describe the progress and the faults of a boot.

    :param boot: ``boot`` of a group
    :returns: [line]
    """
    counts = f'{boot["created"]} of {boot["missing"]} created'
    return [
        f'{boot["status"]}: {counts}',
        *([boot['fault']['message']] if boot['fault'] else []),
        *(
            f'{each["path"]}: {each["fault"]["message"]}'
            for each in boot['faults']
        ),
    ]


def format_event(event):
    """Format an event as one line.

    :param event: one of the ``events`` of a group
    """
    return ' '.join(
        filter(
            None,
            (
                event['created_at'],
                event['event'],
                event['request_id'],
                event['user_id'] and f'by {event["user_id"]}',
                event['message'],
            ),
        )
    )


def format_refusal(refusal):
    """Describe the conflict of a refusal and the relaxations that help.

    :param refusal: ``refusal`` of a group
    :returns: [line]
    """
    lines = [refusal['reason']['text']] if refusal['reason'] else []
    qualification = (
        '' if refusal['minimal'] else ' (possibly not all of them are needed)'
    )
    lines.append(f'These requirements conflict{qualification}:')
    lines += (f'  - {item["text"]}' for item in refusal['conflict'])
    if refusal['relaxations']:
        lines.append('Changes that would help:')
        lines += (
            f'  {number}. {each["text"]}'
            for number, each in enumerate(refusal['relaxations'], 1)
        )
    return lines


def _relax_command(group_id, refusal):
    if refusal and refusal['relaxations']:
        yield (
            f'To apply a change, by its number: {_GROUP} set {group_id} '
            '--wait --relax 1'
        )


def format_move(move):
    """Format a move as one line: member, server and destination.

    :param move: one of the ``moves`` of a proposal
    """
    destination = move.get('host') or ', '.join(
        f'{level} {domain}' for level, domain in move['domains'].items()
    )
    return f'{move["path"]} ({move["server_id"]}) to {destination}'


def format_policy(violation):
    """Name a violated policy: ``{'at': ..., 'policy': {...}}``."""
    path = violation['at'] or 'the group'
    policy = violation['policy']
    return f'{policy["scope"]} {policy["type"]} of {path}'


def _failure_reasons(status, fault, refusal):
    if fault:
        yield fault['message']
    if refusal:
        yield from format_refusal(refusal)
    elif status in _DEFAULT_REASONS:
        yield _DEFAULT_REASONS[status]
