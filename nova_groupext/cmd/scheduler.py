# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-scheduler: nova-scheduler with the redeem door.

The same configuration, the same service record, the same topic; run it in
the place of every nova-scheduler.
"""

# Before anything else is imported, as nova.cmd.scheduler does.
from nova import monkey_patch

monkey_patch.patch(backend='threading')

from nova import service  # noqa: E402
from nova.cmd import scheduler  # noqa: E402

MANAGER = 'nova_groupext.scheduler.manager.HolisticSchedulerManager'


def main():
    service.SERVICE_MANAGERS['nova-scheduler'] = MANAGER
    scheduler.main()
