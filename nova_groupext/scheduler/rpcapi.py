# SPDX-License-Identifier: Apache-2.0
"""RPC client of the planners.

The planners have a topic of their own: on Nova's ``scheduler`` topic a
scheduler without VRT groups could take the message, which would be lost.
"""

import enum

from nova import rpc
import oslo_messaging as messaging

TOPIC = 'vrt_planner'

# Seconds that the answer may take after the planner's time limit.
ANSWER_TIME = 2


class Outcome(enum.StrEnum):
    """Result of replacing members."""

    # No member needs another host any more.
    DONE = 'done'
    # No other host exists, or none was found.
    NO_OTHER_HOST = 'no other host'
    # The group, or all slots of the planner, are busy.
    BUSY = 'busy'


class PlannerAPI:
    """RPC client that reaches any planner.

    Version history:

    * 1.0 - serve_group, propose, replace_members
    """

    TARGET = messaging.Target(topic=TOPIC, version='1.0')

    def __init__(self):
        self._client = rpc.get_client(self.TARGET)

    def serve_group(self, context, group_uuid):
        """Ask a planner to do what a group needs by now.

        If the group or its draft is PLANNING, the planner plans and holds it.
        It releases the holds of released members; for a group in state
        RELEASING it releases all, and then removes the rows.
        """
        self._client.cast(context, 'serve_group', group_uuid=group_uuid)

    def propose(self, context):
        """Ask a planner to compute the requested proposals."""
        self._client.cast(context, 'propose')

    def replace_members(self, context, group_uuid, excluded_nodes, seconds):
        """Find other hosts for members; return the Outcome.

        :param excluded_nodes: {member path: nodes that it cannot use}
        :param seconds: time limit of the planner
        :raises: oslo_messaging.MessagingException when no planner answers
        """
        client = self._client.prepare(timeout=seconds + ANSWER_TIME)
        return client.call(
            context,
            'replace_members',
            group_uuid=group_uuid,
            excluded_nodes=excluded_nodes,
            seconds=seconds,
        )
