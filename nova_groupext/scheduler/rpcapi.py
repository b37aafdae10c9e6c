# SPDX-License-Identifier: Apache-2.0
"""How the API reaches a planner.

The planners have a topic of their own: a message on Nova's ``scheduler``
topic could reach a scheduler that knows nothing of groups and be lost there.
"""

from nova import rpc
import oslo_messaging as messaging

TOPIC = 'vrt_planner'


class PlannerAPI:
    """Casts to whichever planner is free.

    Version history:

    * 1.0 - plan_group, release_group
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
