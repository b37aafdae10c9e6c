# SPDX-License-Identifier: Apache-2.0
"""Texts for users about refusals, faults, revisions, boots, events, moves."""

from __future__ import annotations

from collections.abc import Iterator
import typing

if typing.TYPE_CHECKING:
    # The help imports this module, but needs no types.
    from nova_groupext_client import api_types

_GROUP = 'openstack vrt group'
_DEFAULT_REASONS = {
    'REFUSED': 'The group may fit later, or with another definition.',
    'UNDECIDED': 'Neither a plan nor a proof that none exists was found in '
    'time.',
    'ERROR': 'An unexpected error occurred.',
}


def explain_failure(
    group: api_types.Group,
    source: str = '--definition|--template FILE',
    *,
    can_relax: bool = True,
) -> str | None:
    """Explain why a group, or its revision, has no plan and what would help.

    :param source: options of ``group set`` that name a new definition
    :param can_relax: whether the group may differ from its template
    :returns: text of one or more lines; None if planning has not failed
    """
    name = f'{group.name} ({group.id})'
    revision = requested_revision(group)
    if group.status in _DEFAULT_REASONS:
        lines = [
            f'Group {name} is {group.status}.',
            *failure_reasons(group),
            f'To retry:      {_GROUP} hold {group.id} --wait',
            f'To delete it:  {_GROUP} delete {group.id}',
            f'To change it:  {_GROUP} set {group.id} --wait {source}',
            *_relax_command(group.id, group.refusal if can_relax else None),
        ]
    elif revision and revision['status'] in _DEFAULT_REASONS:
        lines = [
            f'The revision of group {name} has no plan; the group is '
            'unchanged.',
            *format_revision(revision),
            *_relax_command(
                group.id, revision['refusal'] if can_relax else None
            ),
        ]
    else:
        return None
    return '\n'.join(lines)


def failure_reasons(group: api_types.Group) -> list[str]:
    """Explain why a group is REFUSED, UNDECIDED or in ERROR.

    :returns: lines, empty for other states without a fault
    """
    return [*_failure_reasons(group.status, group.fault, group.refusal)]


def requested_revision(group: api_types.Group) -> api_types.Revision | None:
    """Return the revision that a tenant has asked for, not a planner's."""
    revision = group.revision
    return revision if revision and revision['origin'] == 'request' else None


def format_revision(revision: api_types.Revision) -> list[str]:
    """Describe the status of a revision, and the reasons if it failed."""
    status, origin = revision['status'], revision['origin']
    return [
        status if origin == 'request' else f'{status}, for a {origin}',
        *_failure_reasons(status, revision['fault'], revision['refusal']),
    ]


def format_boot(boot: api_types.Boot) -> list[str]:
    """Describe the progress and the faults of a boot."""
    counts = f'{boot["created"]} of {boot["missing"]} created'
    return [
        f'{boot["status"]}: {counts}',
        *([boot['fault']['message']] if boot['fault'] else []),
        *(
            f'{each["path"]}: {each["fault"]["message"]}'
            for each in boot['faults']
        ),
    ]


def format_event(event: api_types.Event) -> str:
    """Format an event as one line."""
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


def format_refusal(refusal: api_types.Refusal) -> list[str]:
    """Describe the conflict of a refusal and the relaxations that help."""
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


def _relax_command(
    group_id: str, refusal: api_types.Refusal | None
) -> Iterator[str]:
    if refusal and refusal['relaxations']:
        yield (
            f'To apply a change, by its number: {_GROUP} set {group_id} '
            '--wait --relax 1'
        )


def format_move(move: api_types.Move) -> str:
    """Format a move as one line: member, server and destination."""
    destination = move.get('host') or ', '.join(
        f'{level} {domain}' for level, domain in move['domains'].items()
    )
    return f'{move["path"]} ({move["server_id"]}) to {destination}'


def format_changes(member: api_types.Member) -> str:
    """Format what of a member is not as its definition describes it."""
    successor, pending = member.get('successor'), member.get('pending')
    resize = member.get('resize')
    parts = []
    if member.get('grown'):
        parts.append('grown')
    if pending:
        parts.append(f'{", ".join(pending["to"])} pending')
    if resize:
        held = 'held' if resize['held'] else 'not held'
        parts.append(f'resize to {resize["to"]}, {held}')
    if successor:
        parts.append(
            f'successor {successor["server_id"]} {successor["status"]}'
        )
    return '; '.join(parts)


def format_policy(violation: api_types.Violation) -> str:
    """Name a violated policy and the part of the group that has it."""
    path = violation['at'] or 'the group'
    policy = violation['policy']
    return f'{policy["scope"]} {policy["type"]} of {path}'


def _failure_reasons(
    status: str,
    fault: api_types.Fault | None,
    refusal: api_types.Refusal | None,
) -> Iterator[str]:
    if fault:
        yield fault['message']
    if refusal:
        yield from format_refusal(refusal)
    elif status in _DEFAULT_REASONS:
        yield _DEFAULT_REASONS[status]
