# SPDX-License-Identifier: Apache-2.0
"""Global state of Nova in this process: its setup and its reset."""

import contextlib
import gc
import logging
import threading

from futurist import _thread as workers
from nova import availability_zones
from nova import config
from nova import context
from nova import objects
from nova import policy
from nova import rpc
from nova import service_auth
from nova.compute import api as compute_api
from nova.compute import rpcapi as compute_rpcapi
import nova.conf
from nova.scheduler.client import report
from oslo_log import log
from placement import policy as placement_policy
from placement.objects import resource_class
from placement.objects import trait

from nova_groupext import nova_releases
from nova_groupext.cloud import errors

CONF = nova.conf.CONF

# Interval at which an idle thread of Nova checks whether to end. The default
# is one second, and the stop of a service waits for several threads in turn.
IDLE_SECONDS = 0.1

_LOCK = threading.Lock()


@contextlib.contextmanager
def exclusive():
    """Raise errors.CannotStart if this process already runs a cloud."""
    if not _LOCK.acquire(blocking=False):
        raise errors.CannotStart('This process already runs a try-out cloud.')
    try:
        yield
    finally:
        _LOCK.release()


@contextlib.contextmanager
def configured(state):
    """Configure Nova from the directory ``state``, with its log and bus.

    At the end Nova's global state is reset to that of a new process.
    """
    config.parse_args(['nova', '--config-file', str(state / 'nova.conf')])
    nova_releases.stop_without_sleep(CONF)
    try:
        with _logging(), _short_idle_times():
            objects.register_all()
            yield
    finally:
        rpc.cleanup()
        _reset_nova()


@contextlib.contextmanager
def _logging():
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    log.setup(CONF, 'nova')
    try:
        yield
    finally:
        for handler in list(root.handlers):
            root.removeHandler(handler)
            handler.close()
        for handler in handlers:
            root.addHandler(handler)
        root.setLevel(level)


@contextlib.contextmanager
def _short_idle_times():
    original = workers.ThreadWorker.MAX_IDLE_FOR
    workers.ThreadWorker.MAX_IDLE_FOR = IDLE_SECONDS
    try:
        yield
    finally:
        # The timers' threads end with their executors, which are in cycles.
        gc.collect()
        workers.ThreadWorker.MAX_IDLE_FOR = original


def _reset_nova():
    for database, _bus in context.CELL_CACHE.values():
        database.dispose_pool()
    nova_releases.reset_context()
    service_auth.reset_globals()
    compute_api.CELLS = []
    compute_rpcapi.reset_globals()
    availability_zones.reset_cache()
    objects.Service.clear_min_version_cache()
    policy.reset()
    placement_policy.reset()
    report.PLACEMENTCLIENT = None
    resource_class._RESOURCE_CLASSES_SYNCED = False
    trait._TRAITS_SYNCED = False
    nova_releases.reset_thread_pools()
    CONF.reset()
