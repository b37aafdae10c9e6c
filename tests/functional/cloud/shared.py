# SPDX-License-Identifier: Apache-2.0
"""The one cloud of this process, which classes with equal needs share.

A process has one Nova, whose start takes seconds. So a cloud runs until a
class needs another one, and the order of the classes decides how many start.
"""

import collections
from concurrent.futures import thread  # noqa: F401 - see below
import contextlib
import itertools
import os
import pathlib
import random
import tempfile
import threading

from testtools import testsuite

from nova_groupext.cloud import cloud
from tests.functional.cloud import migrated

# Number of orders of the kinds of clouds that are tried.
ORDERS_TRIED = 500

_running = contextlib.ExitStack()
_cloud = None
_key = None


def running(hosts, parts):
    """Return a running cloud.Cloud of some hosts and parts."""
    global _cloud, _key
    if _key != (hosts, parts):
        stop()
        state = _running.enter_context(tempfile.TemporaryDirectory())
        _cloud = _running.enter_context(
            cloud.Cloud(state, hosts, migrated.copy_databases(state, parts))
        )
        _key = hosts, parts
    return _cloud


def stop():
    """Stop the running cloud, if there is one."""
    global _key
    _key = None
    _running.close()


# Before atexit's functions, Python ends pools of threads, which a stop needs.
# They are registered like this function; the last one is called first.
threading._register_atexit(stop)


def load(loader, package_file, pattern, choose=iter):
    """Load the tests of a package, in the order of order_tests().

    :param choose: called with all tests, returns those that are loaded
    """
    folder = pathlib.Path(package_file).parent
    found = testsuite.iterate_tests(loader.discover(str(folder), pattern))
    return loader.suiteClass(order_tests(choose(found)))


def order_tests(tests):
    """Order tests so that the workers of a run start few clouds.

    Without recorded durations, stestr deals the classes out in turn, one to
    each worker. So the classes of one kind of cloud are as many positions
    apart as there are workers. ORDERS_TRIED random orders of the kinds are
    tried; the one with the least work for the busiest worker is taken.
    """
    classes = collections.defaultdict(list)
    for test in tests:
        classes[type(test)].append(test)
    classes_by_key = collections.defaultdict(list)
    for each in classes:
        classes_by_key[_cloud_key(each)].append(each)
    worker_classes = min(
        _distributions(classes_by_key),
        key=lambda candidate: _max_work(candidate, classes),
    )
    for classes_in_turn in itertools.zip_longest(*worker_classes):
        for each in filter(None, classes_in_turn):
            yield from classes[each]


def _distributions(classes_by_key):
    """Yield ways to give each worker its classes: a list of lists."""
    rng = random.Random(len(classes_by_key))
    for _try in range(ORDERS_TRIED):
        order = rng.sample(list(classes_by_key), len(classes_by_key))
        yield _chunks(
            [c for key in order for c in classes_by_key[key]], _workers()
        )


def _max_work(worker_classes, classes):
    """Return the work of the worker that has the most, in tests.

    The start of a cloud counts as a test: it takes about as long.
    """
    return max(
        sum(len(classes[each]) for each in classes_of_worker)
        + len({_cloud_key(each) for each in classes_of_worker})
        for classes_of_worker in worker_classes
    )


def _cloud_key(case):
    """Return the key of a class's shared cloud, None for its own cloud."""
    if getattr(case, 'SHARES_CLOUD', False):
        return case.HOSTS, case.PARTS
    return None


def _chunks(items, count):
    """Split a list into ``count`` parts; the first ones are longer."""
    short, longer = divmod(len(items), count)
    rest = iter(items)
    return [
        list(itertools.islice(rest, short + (number < longer)))
        for number in range(count)
    ]


def _workers():
    return int(os.environ.get('VRT_WORKERS', os.cpu_count()))
