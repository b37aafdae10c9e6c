# SPDX-License-Identifier: Apache-2.0
"""Results of decisions: the statuses and faults of groups and drafts."""

import dataclasses

from oslo_log import log as logging

from nova_groupext import notifications
from nova_groupext.objects import states
from nova_groupext.objects.event import VRTEvent
from nova_groupext.objects.plan import VRTPlan
from nova_groupext.scheduler.adopt import adoption
from nova_groupext.scheduler.decide import decisions
from nova_groupext.solver.explain import sentences

LOG = logging.getLogger(__name__)

UNKNOWN = (
    'No host can take {}: the flavor or image requests a trait or a resource '
    'class that is unknown to Placement. Use another flavor or image, or ask '
    'the operator to create the trait or resource class.'
)

INCOMPLETE = (
    'No plan was found, but the reading of the cloud is incomplete: {}.'
)

NO_SUCCESS = (
    "Nova's filters, a part of the cloud that did not answer, or other "
    'servers prevented every plan. A retry may succeed.'
)


def conclude(work, status, fault=None):
    """Store and report the result of a decision.

    Another planner may have begun to adopt servers for the draft and died:
    the hints of servers that were not adopted are restored first.

    :raises: GenerationConflict when the group was changed meanwhile
    """
    if work.revised:
        adoption.sync_hints(work.context, work.group)
    work.group.change(work.context, status, fault=fault)
    report(work)


def conclude_without_plan(work, snapshot, answer, gaps, obstacle):
    """Store an answer without a plan, and conclude.

    :param answer: answers.Answer, refused or undecided
    :param gaps: reasons why a refusal may be wrong
    :param obstacle: fault text if hosts were excluded, else None
    """
    status, fault = states.Group.UNDECIDED, None
    if answer.status == VRTPlan.REFUSED:
        if gaps or obstacle:
            # Hosts are missing that filters refused or the reading missed:
            # such an answer proves nothing about the group.
            answer = dataclasses.replace(answer, status=VRTPlan.UNDECIDED)
            fault = INCOMPLETE.format('; '.join(gaps)) if gaps else obstacle
        else:
            status = states.Group.REFUSED
            unknown = snapshot.members_unknown_to_placement()
            if unknown:
                fault = UNKNOWN.format(sentences.join_list(unknown))
    decisions.store_answer(work, answer, {})
    conclude(work, status, fault)


def report(work):
    """Log and notify the status of a group or draft."""
    group = work.group
    result = f'{group.status}: {group.fault}' if group.fault else group.status
    if work.revised is None:
        LOG.info(
            'VRT group %(group)s is %(result)s',
            {'group': group.uuid, 'result': result},
        )
        notifications.notify_decision(work.context, group)
        return
    # Planners repeat replacements; an event for each would be noise.
    if not work.is_replacement:
        VRTEvent.record_change(
            work.context,
            work.revised.id,
            f'revision_{group.status.lower()}',
            group.fault,
        )
    LOG.info(
        'The revision of VRT group %(group)s is %(result)s',
        {'group': work.revised.uuid, 'result': result},
    )
