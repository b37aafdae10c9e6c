# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-scheduler: nova-scheduler that redeems holds of members.

It has the configuration, service record and topic of nova-scheduler, and must
replace every nova-scheduler of the cloud.
"""

# Before any other import, as in nova.cmd.scheduler.
from nova_groupext import nova_releases

nova_releases.use_threads()

from nova import service  # noqa: E402
from nova.cmd import scheduler  # noqa: E402

MANAGER = 'nova_groupext.scheduler.manager.HolisticSchedulerManager'


def main():
    service.SERVICE_MANAGERS['nova-scheduler'] = MANAGER
    scheduler.main()
