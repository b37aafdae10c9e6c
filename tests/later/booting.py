# SPDX-License-Identifier: Apache-2.0
"""A small cloud and a group of three members, for tests of ``boot``."""

from nova_groupext.cloud import hosts
from nova_groupext.objects import boot as boots
from tests.functional import base

TOPOLOGY = {
    'members': {'db': base.member('m1.small')},
    'groups': {
        'workers': {
            'members': {
                'worker': base.member(availability_zone='az1', count=2)
            }
        }
    },
}
WORKERS = ['workers/worker-0', 'workers/worker-1']
ALL = ['db', *WORKERS]
OFFLINE = {'networks': 'none'}


class BootTestCase(base.GroupTestCase):
    HOSTS = (
        hosts.Host('cmp-1', 'r1', 'az1', vcpus=8),
        hosts.Host('cmp-2', 'r2', 'az1', vcpus=8),
    )

    def wait_for_boot(self, uuid, status=boots.DONE):
        """Wait until the boot of a group has ended, and return it."""
        boot = self.eventually(
            lambda: self.group(uuid)['boot'],
            lambda boot: boot['status'] != boots.BOOTING,
        )
        self.assertEqual(status, boot['status'], boot)
        return boot
