# SPDX-License-Identifier: Apache-2.0
"""The nova-computes of a cell in one process.

``serve_computes.py FILE STATE``: FILE is the cell's nova.conf. The hosts are
named by ``VRT_CLOUD_HOSTS``, as ``name:rack:zone`` with commas between them.
"""

import os
import pathlib
import signal
import sys
import threading

from nova_groupext import nova_releases

nova_releases.use_threads()

from nova import config  # noqa: E402
from nova import objects  # noqa: E402
from nova import rpc  # noqa: E402
import nova.conf  # noqa: E402
from oslo_log import log as logging  # noqa: E402

from nova_groupext.cloud import hosts  # noqa: E402
from nova_groupext.cloud import services  # noqa: E402


def main(config_file, state):
    config.parse_args(['nova-compute', '--config-file', config_file])
    logging.setup(nova.conf.CONF, 'nova')
    objects.register_all()
    objects.Service.enable_min_version_cache()
    rpc.init(nova.conf.CONF)
    running = services.Services(pathlib.Path(state))
    for each in os.environ['VRT_CLOUD_HOSTS'].split(','):
        running.start_compute(hosts.Host(*each.split(':')))
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_args: ended.set())
    ended.wait()
    running.stop()


if __name__ == '__main__':
    main(*sys.argv[1:])
