# SPDX-License-Identifier: Apache-2.0
"""Reasons of a resource's failure, for people who see the first line of it."""

import textwrap
from typing import Any

from nova_groupext_client import sentences

# Heat cuts the reasons of events at 255 characters, and its own words and the
# name of the resource come first.
_PART = 105


def explain(group: Any) -> str:
    """Explain why a group, or its revision, was not planned.

    :param group: VrtGroup of the SDK
    :returns: what conflicts and the best relaxation, then all that is known
    """
    failed: Any = sentences.requested_revision(group) or {
        'status': group.status,
        'origin': 'request',
        'fault': group.fault,
        'refusal': group.refusal,
    }
    lines = sentences.format_revision(failed)
    head = [textwrap.shorten(text, _PART) for text in _summary(failed)]
    return '\n'.join(['; '.join(head) or lines[0], *lines])


def _summary(failed: dict[str, Any]) -> list[str]:
    """Return what conflicts, and what would help most."""
    refusal = failed['refusal']
    if not refusal:
        return []
    conflict = ', '.join(each['text'] for each in refusal['conflict'])
    reason = refusal['reason']['text'] if refusal['reason'] else ''
    relaxations = [each['text'] for each in refusal['relaxations'][:1]]
    return [reason or f'conflict: {conflict}', *relaxations]
