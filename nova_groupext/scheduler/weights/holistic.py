# SPDX-License-Identifier: Apache-2.0
"""HolisticWeigher: the planned host comes first."""

from nova.scheduler import weights

from nova_groupext.scheduler import candidate


class HolisticWeigher(weights.BaseHostWeigher):
    """Weigh a member's planned host 1, every other host 0."""

    def _weigh_object(self, host_state, weight_properties):
        return 1.0 if candidate.of(host_state) else 0.0
