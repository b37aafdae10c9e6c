# SPDX-License-Identifier: Apache-2.0
"""HolisticWeigher: members move to where their group costs the least."""

from nova.scheduler import weights

from nova_groupext.conf import CONF
from nova_groupext.scheduler import candidate


class HolisticWeigher(weights.BaseHostWeigher):
    """Weigh hosts by what the group would cost if its member went there.

    What is off its strict policies comes first, then the cost of its soft
    ones. The best hosts weigh 0, the next best -1, and so on. To everybody
    else all hosts weigh 0.
    """

    def weight_multiplier(self, host_state):
        """Outweigh Nova's own weighers, as the planner does."""
        return CONF.vrt.move_weight_multiplier

    def weigh_objects(self, weighed_obj_list, weight_properties):
        """Look at all hosts at once: only their order counts."""
        costs = [self._weigh_object(each.obj) for each in weighed_obj_list]
        ranks = {cost: rank for rank, cost in enumerate(sorted(set(costs)))}
        return [float(-ranks[cost]) for cost in costs]

    def _weigh_object(self, host_state, weight_properties=None):
        request = candidate.of_move(host_state)
        return (0, 0) if request is None else request.move.cost(request.seat)
