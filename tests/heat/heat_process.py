# SPDX-License-Identifier: Apache-2.0
"""Heat's API and engine in one process, for a try-out cloud.

``heat_process.py CONFIG`` runs in an environment with Heat and our client, as
an operator's Heat has them. It prints its URL when it serves, and ends with
its standard input.
"""

import sys

from oslo_service import backend

backend.init_backend(backend.BackendType.THREADING)

from cheroot import wsgi  # noqa: E402
from heat.common import config  # noqa: E402
from heat.common import messaging  # noqa: E402
from heat.db import api as db_api  # noqa: E402
from heat.db import migration  # noqa: E402
from heat.engine import service  # noqa: E402
from heat.engine import template  # noqa: E402
from heat.rpc import api as rpc_api  # noqa: E402
from oslo_config import cfg  # noqa: E402
from oslo_log import log as logging  # noqa: E402
import sqlalchemy as sa  # noqa: E402

THREADS = 32


def main(config_file):
    logging.register_options(cfg.CONF)
    cfg.CONF(
        ['--config-file', config_file], project='heat', prog='heat-engine'
    )
    logging.setup(cfg.CONF, 'heat')
    messaging.setup()
    migration.db_sync()
    _lock_for_each_transaction(db_api.context_manager.writer.get_engine())
    template._get_template_extension_manager()
    engine = service.EngineService('heat', rpc_api.ENGINE_TOPIC)
    engine.start()
    server = wsgi.Server(
        ('127.0.0.1', 0),
        config.load_paste_app('heat-api'),
        numthreads=THREADS,
        request_queue_size=THREADS,
    )
    server.prepare()
    host, port = server.bind_addr
    print(f'http://{host}:{port}', flush=True)  # noqa: T201
    server.serve()


def _lock_for_each_transaction(engine):
    """Make transactions of SQLite wait for each other, instead of failing.

    One that has read cannot write after another one has written.
    """

    @sa.event.listens_for(engine, 'begin')
    def begin(connection):
        # oslo.db has begun one that locks nothing yet.
        connection.exec_driver_sql('ROLLBACK')
        connection.exec_driver_sql('BEGIN IMMEDIATE')


if __name__ == '__main__':
    main(sys.argv[1])
