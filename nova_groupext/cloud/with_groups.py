# SPDX-License-Identifier: Apache-2.0
"""Components of a try-out cloud with nova_groupext enabled."""

from nova_groupext.cloud import components
from nova_groupext.db import engine
from nova_groupext.db import migration

CONFIG = """\
[filter_scheduler]
available_filters = nova.scheduler.filters.all_filters
available_filters = \
nova_groupext.scheduler.filters.holistic_filter.HolisticFilter
enabled_filters = {filters}
weight_classes = nova.scheduler.weights.all_weighers,\
nova_groupext.scheduler.weights.holistic.HolisticWeigher

[vrt]
topology_levels = rack:rack
reap_interval = 5
"""

# Nova's default filters and the filter of groups.
FILTERS = (
    'ComputeFilter',
    'ComputeCapabilitiesFilter',
    'ImagePropertiesFilter',
    'ServerGroupAntiAffinityFilter',
    'ServerGroupAffinityFilter',
    'HolisticFilter',
)


def _sync_database(stack):
    engine.configure()
    stack.callback(engine.reset)
    migration.sync()


HOLISTIC = components.Parts(
    scheduler='nova_groupext.scheduler.manager.HolisticSchedulerManager',
    router='nova_groupext.api.app:APIRouter.factory',
    filters=(('vrt_hints', 'nova_groupext.api.hints:HintsFilter.factory'),),
    config=CONFIG.format(filters=','.join(FILTERS)),
    services=('nova_groupext.scheduler.service.PlannerService',),
    prepare=_sync_database,
)
