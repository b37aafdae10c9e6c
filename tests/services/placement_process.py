# SPDX-License-Identifier: Apache-2.0
"""One Placement process: ``python -m tests.services.placement_process FILE``.

The process prints its URL once it answers, and ends with its standard input,
so that it does not outlive a test that is killed.
"""

import sys

from nova_groupext.cloud import placement
from nova_groupext.cloud import web


def main(config_file):
    server = web.Server()
    server.mount('placement', placement.application(config_file))
    server.start()
    sys.stdout.write(f'{server.url}/placement\n')
    sys.stdout.flush()
    sys.stdin.read()
    server.stop()


if __name__ == '__main__':
    main(*sys.argv[1:])
