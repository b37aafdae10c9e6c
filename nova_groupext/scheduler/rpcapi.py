# SPDX-License-Identifier: Apache-2.0
"""How the API reaches a planner.

The planners have a topic of their own: a message on Nova's ``scheduler``
topic could reach a scheduler that knows nothing of groups and be lost there.
"""

import enum

from nova import rpc
import oslo_messaging as messaging

TOPIC = 'vrt_planner'

# Seconds after which the answer of a planner whose time is over is here.
ANSWERING = 2


class Outcome(enum.StrEnum):
    """What has become of members that were to get other places."""

    # They are not held any more where they were.
    DONE = 'done'
    # There is no other place for them, or none was found.
    IN_VAIN = 'in vain'
    # Somebody else is at work on the group, or the planner on others.
    BUSY = 'busy'


class PlannerAPI:
    """Reaches whichever planner is free.

    Version history:

    * 1.0 - serve_group, propose, replan
    """

    TARGET = messaging.Target(topic=TOPIC, version='1.0')

    def __init__(self):
        self._client = rpc.get_client(self.TARGET)

    def serve_group(self, context, group_uuid):
        """Have done for a group what it asks for by now.

        If it is PLANNING, or its draft is, that is planned and held. What
        released members hold is given back; of a group in state RELEASING
        that is everything, and then its rows are removed.
        """
        self._client.cast(context, 'serve_group', group_uuid=group_uuid)

    def propose(self, context):
        """Have the proposals worked out that are asked for."""
        self._client.cast(context, 'propose')

    def replan(self, context, group_uuid, elsewhere, seconds):
        """Find other places for members; returns the Outcome.

        :param elsewhere: {member path: nodes that are of no use to it}
        :param seconds: how long the planner may take
        :raises: oslo_messaging.MessagingException when no planner answers
        """
        client = self._client.prepare(timeout=seconds + ANSWERING)
        return client.call(
            context,
            'replan',
            group_uuid=group_uuid,
            elsewhere=elsewhere,
            seconds=seconds,
        )
