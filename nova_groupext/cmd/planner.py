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
from oslo_db import exception as db_exc  # noqa: E402
from oslo_log import log as logging  # noqa: E402

from nova_groupext.cmd import manage  # noqa: E402
from nova_groupext.db import engine  # noqa: E402
from nova_groupext.scheduler import service as planner_service  # noqa: E402


def main():
    """Serve until it is told to end; returns the exit status."""
    config.parse_args(sys.argv)
    if not engine.is_configured():
        # Every round of it would say so, and do nothing.
        advice = manage.ADVICE[db_exc.CantStartEngineError]
        sys.stderr.write(f'nova-groupext-planner: {advice}\n')
        return 1
    engine.configure()
    try:
        manage.check_tables()
    except manage.MISTAKES as exc:
        sys.stderr.write(f'nova-groupext-planner: {manage.told(exc)}\n')
        return 1
    # Workers make connections of their own.
    engine.reset()
    logging.setup(nova.conf.CONF, 'nova')
    objects.register_all()
    service.serve(
        planner_service.PlannerService(),
        workers=nova.conf.CONF.vrt.planner_workers,
    )
    service.wait()
    return 0
