# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-planner: service that plans, holds and releases groups."""

# Before any other import, as in Nova's services.
from nova_groupext import nova_releases

nova_releases.use_threads()

import sys  # noqa: E402

from nova import config  # noqa: E402
from nova import objects  # noqa: E402
from nova import service  # noqa: E402
import nova.conf  # noqa: E402
from oslo_db import exception as db_exc  # noqa: E402
from oslo_log import log as logging  # noqa: E402

from nova_groupext.cmd import manage  # noqa: E402
from nova_groupext.conf import values  # noqa: E402
from nova_groupext.db import engine  # noqa: E402
from nova_groupext.scheduler import service as planner_service  # noqa: E402


def main():
    """Run the service until it is stopped; return the exit status."""
    try:
        config.parse_args(sys.argv)
        values.check(nova.conf.CONF)
        if not engine.is_configured():
            # Otherwise every periodic task would fail with this error.
            raise db_exc.CantStartEngineError()
        engine.configure()
        manage.check_tables()
    except manage.OPERATOR_ERRORS as exc:
        sys.stderr.write(f'nova-groupext-planner: {manage.error_text(exc)}\n')
        return 1
    # Workers must not share connections across the fork.
    engine.reset()
    logging.setup(nova.conf.CONF, 'nova')
    objects.register_all()
    service.serve(
        planner_service.PlannerService(),
        workers=nova.conf.CONF.vrt.planner_workers,
    )
    service.wait()
    return 0
