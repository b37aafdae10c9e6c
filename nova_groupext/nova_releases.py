# SPDX-License-Identifier: Apache-2.0
"""Differences between the releases of Nova.

The rest of the product is written for the newest release. This module has
what older ones do differently. It checks for names of Nova, not for versions,
because a fix can be backported.

32 (2025.2)
    ``monkey_patch.patch`` takes no backend: it patches with eventlet unless
    the environment variable ``NO_EVENTLET`` is set. Importing ``nova.cmd`` or
    the API calls it. nova-compute has no second RPC topic. In native threads
    it cannot copy a ``ProviderTree``, and submits live migrations to a pool of
    green threads. ``nova.context`` has no function that resets its globals.
    The stop of an oslo.service in native threads does not wait for the calls
    of its timers.
33 (2026.1)
    nova-scheduler, nova-conductor and nova-compute, when they are stopped,
    sleep for ``[DEFAULT]manager_shutdown_timeout``, 160 seconds by default,
    even if they have nothing to do.
32 and 33
    Thread pools are globals of ``nova.utils``, each with a function that
    closes it; there is no ``nova.thread_pool_factory``. Their openstacksdk
    raises an AttributeError if Placement does not answer at first.
    The commands nova-conductor and nova-compute patch with eventlet by
    default. The try-out cloud starts these services without the commands.
34 (2026.2)
    None: the product is developed with it.
"""

import copyreg
import inspect
import os

# Nova selects its concurrency backend before its other modules are imported,
# so no function here may need another one at import.
from nova import monkey_patch

# Nova's own switch, which counts for more than a backend.
NO_EVENTLET = 'OS_NOVA_DISABLE_EVENTLET_PATCHING'

# Number of live migrations that a compute runs at once: Nova's default.
LIVE_MIGRATIONS = 1

# Functions of nova.utils: 33 has all of them, 32 two.
_CLOSE_POOLS = (
    'destroy_cache_images_executor',
    'destroy_default_executor',
    'destroy_long_task_executor',
    'destroy_scatter_gather_executor',
)


def use_threads():
    """Select native threads, as far as the operator leaves that to us.

    Call it before anything else of Nova is imported.
    """
    if 'backend' in inspect.signature(monkey_patch.patch).parameters:
        monkey_patch.patch(backend='threading')
        return
    os.environ[NO_EVENTLET] = os.environ.get(NO_EVENTLET) or 'true'
    monkey_patch.patch()


def report_client():
    """Return a new SchedulerReportClient.

    :raises: PlacementUnavailable, or as newer releases do
        keystoneauth1.exceptions.ClientException
    """
    from nova.scheduler.client import report

    from nova_groupext import exception

    try:
        return report.SchedulerReportClient()
    except AttributeError as exc:
        if exc.name != 'catalog_url':
            raise
        raise exception.PlacementUnavailable(reason=exc) from exc


def compute_topics():
    """Return nova-compute's topics as arguments of ``Service.create``."""
    from nova.compute import rpcapi

    topics = {'topic': rpcapi.RPC_TOPIC}
    if hasattr(rpcapi, 'RPC_TOPIC_ALT'):
        topics['topic_alt'] = rpcapi.RPC_TOPIC_ALT
    return topics


def allow_computes_in_threads():
    """Make a ProviderTree copyable, which in 32 has a lock of its own."""
    from nova.compute import provider_tree

    if '__setstate__' not in vars(provider_tree.ProviderTree):
        copyreg.pickle(provider_tree.ProviderTree, _reduce_without_lock)


def use_threads_for_live_migrations(manager):
    """Replace the pool of green threads that a ComputeManager has in 32."""
    import futurist

    pool = getattr(manager, '_live_migration_executor', None)
    if isinstance(pool, futurist.GreenThreadPoolExecutor):
        pool.shutdown()
        manager._live_migration_executor = futurist.ThreadPoolExecutor(
            max_workers=LIVE_MIGRATIONS
        )


def stop_without_sleep(conf):
    """Set the time of services that would sleep before they stop.

    Since 34 the time is an argument and a limit: a service stops earlier if it
    has no tasks.
    """
    from nova import manager

    stop = getattr(manager.Manager, 'graceful_shutdown', None)
    if stop and 'timeout' not in inspect.signature(stop).parameters:
        conf.set_override('manager_shutdown_timeout', 0)


def stop_timers(group):
    """Stop the timers of a ThreadGroup; wait until their calls have ended.

    A graceful stop of the group does so except in 32.
    """
    timers = [*group.timers]
    group.stop_timers()
    for timer in timers:
        timer.wait()


def _reduce_without_lock(tree):
    """Return what copies a tree; a new one gets the lock that all share."""
    state = dict(vars(tree))
    del state['lock']
    return type(tree), (), state


def reset_context():
    """Forget the cells that Nova has read."""
    from nova import context

    if hasattr(context, 'reset_globals'):
        context.reset_globals()
    else:
        context.CELL_CACHE = {}
        context.CELLS = []


def reset_thread_pools():
    """Close Nova's thread pools such that it can make them again."""
    from nova import utils
    from oslo_utils import importutils

    pools = importutils.try_import('nova.thread_pool_factory')
    if pools:
        # The stop of a service closes the factory, which cannot be reopened.
        pools.FACTORY = pools.ThreadPoolFactory()
        return
    for name in _CLOSE_POOLS:
        if hasattr(utils, name):
            getattr(utils, name)()
