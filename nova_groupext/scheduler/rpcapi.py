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

    * 1.0 - plan_group, release_members, forget_group
    """

    TARGET = messaging.Target(topic=TOPIC, version='1.0')

    def __init__(self):
        self._client = rpc.get_client(self.TARGET)

    def plan_group(self, context, group_uuid):
        """Look, decide and, if the group wants it, hold."""
        self._client.cast(context, 'plan_group', group_uuid=group_uuid)

    def release_members(self, context, group_uuid, paths):
        """Give the holds of these members back; ``None`` means all."""
        self._client.cast(
            context, 'release_members', group_uuid=group_uuid, paths=paths
        )

    def forget_group(self, context, group_uuid):
        """Give back what is held and remove the group's rows."""
        self._client.cast(context, 'forget_group', group_uuid=group_uuid)
