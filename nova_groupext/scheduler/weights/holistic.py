# SPDX-License-Identifier: Apache-2.0
"""HolisticWeigher: prefers hosts where the member's group costs least."""

from nova.scheduler import weights

from nova_groupext.conf import CONF
from nova_groupext.scheduler.placement import marked_requests


class HolisticWeigher(weights.BaseHostWeigher):
    """Nova weigher that ranks hosts by the group's cost after a move.

    Violations of strict policies come first, then the cost of soft ones. The
    best hosts weigh 0, the next best -1, and so on. For all other servers
    every host weighs 0.
    """

    def weight_multiplier(self, host_state):
        """Return a multiplier that outweighs Nova's own weighers."""
        return CONF.vrt.holistic_weight_multiplier

    def weigh_objects(self, weighed_obj_list, weight_properties):
        """Rank all hosts at once: only their order counts."""
        costs = [self._weigh_object(each.obj) for each in weighed_obj_list]
        ranks = {cost: rank for rank, cost in enumerate(sorted(set(costs)))}
        return [float(-ranks[cost]) for cost in costs]

    def _weigh_object(self, host_state, weight_properties=None):
        request = marked_requests.find_move(host_state)
        return (
            (0, 0) if request is None else request.move.cost(request.location)
        )
