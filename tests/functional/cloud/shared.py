# SPDX-License-Identifier: Apache-2.0
"""The one cloud that runs in this process, for classes that want the same.

A process has one Nova, and to start it takes seconds. So a cloud runs until
a class wants another one. This is about which class comes when.
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
TRIES = 500

_running = contextlib.ExitStack()
_cloud = None
_kind = None


def running(hosts, parts):
    """Return a running cloud.Cloud of some hosts and parts."""
    global _cloud, _kind
    if _kind != (hosts, parts):
        stop()
        state = _running.enter_context(tempfile.TemporaryDirectory())
        _cloud = _running.enter_context(
            cloud.Cloud(state, hosts, migrated.prepared(state, parts))
        )
        _kind = hosts, parts
    return _cloud


def stop():
    """Stop the running cloud, if there is one."""
    global _kind
    _kind = None
    _running.close()


# Before atexit's functions, Python ends pools of threads, which a stop needs.
# It ends them by the same means: last registered, first called.
threading._register_atexit(stop)


def load(loader, package_file, pattern, choose=iter):
    """Load the tests of a package, in the order of ordered().

    :param choose: called with all tests, returns those that are loaded
    """
    folder = pathlib.Path(package_file).parent
    found = testsuite.iterate_tests(loader.discover(str(folder), pattern))
    return loader.suiteClass(ordered(choose(found)))


def ordered(tests):
    """Order tests so that the workers of a run start few clouds.

    stestr deals the classes out in turn, one to each worker, as long as it
    has not seen how long they take. So the classes of one kind of cloud are
    as many places apart as there are workers. Of some orders of the kinds the
    one is taken that keeps no worker busy for much longer than the others.
    """
    classes = collections.defaultdict(list)
    for test in tests:
        classes[type(test)].append(test)
    kinds = collections.defaultdict(list)
    for each in classes:
        kinds[_kind_of(each)].append(each)
    hands = min(_deals(kinds), key=lambda hands: _longest(hands, classes))
    for row in itertools.zip_longest(*hands):
        for each in filter(None, row):
            yield from classes[each]


def _deals(kinds):
    """Yield ways to give each worker its classes: a list of lists."""
    rng = random.Random(len(kinds))
    for _try in range(TRIES):
        order = rng.sample(list(kinds), len(kinds))
        yield _chunks([c for kind in order for c in kinds[kind]], _workers())


def _longest(hands, classes):
    """Return the work of the worker that has the most, in tests.

    The start of a cloud counts as a test: it takes about as long.
    """
    return max(
        sum(len(classes[each]) for each in hand)
        + len({_kind_of(each) for each in hand})
        for hand in hands
    )


def _kind_of(case):
    """Return what classes that share a cloud have in common, else None."""
    if getattr(case, 'SHARES_CLOUD', False):
        return case.HOSTS, case.PARTS
    return None


def _chunks(items, count):
    """Cut a list into so many parts; the first ones are the longer ones."""
    short, longer = divmod(len(items), count)
    rest = iter(items)
    return [
        list(itertools.islice(rest, short + (number < longer)))
        for number in range(count)
    ]


def _workers():
    return int(os.environ.get('VRT_WORKERS', os.cpu_count()))
