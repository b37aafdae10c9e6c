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
    # Somebody else was at work on the group, or on others, all the time.
    BUSY = 'busy'


class PlannerAPI:
    """Reaches whichever planner is free.

    Version history:

    * 1.0 - plan_group, release_group
    * 1.1 - propose
    * 1.2 - replan
    """

    TARGET = messaging.Target(topic=TOPIC, version='1.0')

    def __init__(self):
        self._client = rpc.get_client(self.TARGET)

    def plan_group(self, context, group_uuid):
        """Look, decide and, if the group wants it, hold."""
        self._client.cast(context, 'plan_group', group_uuid=group_uuid)

    def release_group(self, context, group_uuid):
        """Give back what released members hold.

        For a group in state RELEASING that is everything, and then its rows
        are removed.
        """
        self._client.cast(context, 'release_group', group_uuid=group_uuid)

    def propose(self, context, group_uuid):
        """Return which servers to move to mend a group; see proposal.propose.

        :raises: oslo_messaging.MessagingException when no planner answers
        """
        client = self._client.prepare(version='1.1')
        return client.call(context, 'propose', group_uuid=group_uuid)

    def replan(self, context, group_uuid, elsewhere, seconds):
        """Find other places for members; returns the Outcome.

        :param elsewhere: {member path: nodes that are of no use to it}
        :param seconds: how long the planner may take
        :raises: oslo_messaging.MessagingException when no planner answers
        """
        client = self._client.prepare(
            version='1.2', timeout=seconds + ANSWERING
        )
        return client.call(
            context,
            'replan',
            group_uuid=group_uuid,
            elsewhere=elsewhere,
            seconds=seconds,
        )
