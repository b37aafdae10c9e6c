# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-planner: plans, holds and releases VRT groups."""

# As Nova's own services do: before anything else is imported.
from nova import monkey_patch

monkey_patch.patch(backend='threading')

import sys  # noqa: E402

from nova import config  # noqa: E402
from nova import objects  # noqa: E402
from nova import service  # noqa: E402
import nova.conf  # noqa: E402
from oslo_log import log as logging  # noqa: E402

from nova_groupext.scheduler import service as planner_service  # noqa: E402


def main():
    config.parse_args(sys.argv)
    logging.setup(nova.conf.CONF, 'nova')
    objects.register_all()
    service.serve(
        planner_service.PlannerService(),
        workers=nova.conf.CONF.vrt.planner_workers,
    )
    service.wait()
