# SPDX-License-Identifier: Apache-2.0
"""Nova's own tests of server groups, with our scheduler in place of Nova's.

They have a folder, and so processes, of their own: what Nova's fixtures leave
in a process is not what a try-out cloud starts from.
"""

import collections

import fixtures
from nova.conf import paths
from nova.tests.functional import test_server_group as stock

from nova_groupext.cloud import config
from nova_groupext.conf import CONF
from nova_groupext.db import engine
from nova_groupext.scheduler import manager
from nova_groupext.scheduler.filters import holistic_filter
from nova_groupext.scheduler.weights import holistic

MANAGER = manager.HolisticSchedulerManager
FILTER = holistic_filter.HolisticFilter
WEIGHER = holistic.HolisticWeigher
# The function before a test replaces it.
STATE_PATH = paths.state_path_def
# Polls of a server, half a second each.
PATIENCE = 120


def path(named):
    return f'{named.__module__}.{named.__name__}'


class WithOurScheduler:
    """A mixin before a class of Nova's tests, which run unchanged."""

    def setUp(self):
        self.calls = collections.Counter()
        for where, name in (
            (MANAGER, 'select_destinations'),
            (FILTER, 'filter_all'),
            (WEIGHER, 'weigh_objects'),
        ):
            self.count_calls(where, name)
        self.useFixture(
            fixtures.MonkeyPatch(
                'nova.conf.paths.state_path_def', self.state_path
            )
        )
        self.addCleanup(engine.reset)
        super().setUp()

    def _wait_for_server_parameter(
        self, server, expected_params, max_retries=10, **kwargs
    ):
        """Wait longer than Nova's five seconds, as a busy machine needs."""
        return super()._wait_for_server_parameter(
            server, expected_params, max(max_retries, PATIENCE), **kwargs
        )

    @staticmethod
    def state_path(relative):
        """Return a path; Nova's wheel has api-paste.ini in another folder."""
        if relative.endswith('api-paste.ini'):
            return str(config.shipped_paste())
        return STATE_PATH(relative)

    def count_calls(self, where, name):
        stock_method = getattr(where, name)

        def counted(*args, **kwargs):
            self.calls[name] += 1
            return stock_method(*args, **kwargs)

        self.useFixture(fixtures.MonkeyPatch(f'{path(where)}.{name}', counted))

    def start_service(self, name, *args, **kwargs):
        """Start a service; ours in place of Nova's scheduler."""
        if name == 'scheduler':
            configured = CONF.filter_scheduler
            self.flags(
                available_filters=[
                    *configured.available_filters,
                    path(FILTER),
                ],
                enabled_filters=[*configured.enabled_filters, FILTER.__name__],
                weight_classes=[*configured.weight_classes, path(WEIGHER)],
                group='filter_scheduler',
            )
            kwargs['manager'] = path(MANAGER)
        return super().start_service(name, *args, **kwargs)


class TestOurScheduler(WithOurScheduler, stock.ServerGroupTestBase):
    """A check that the tests below run our scheduler."""

    def test_server_of_a_server_group_is_placed_by_our_scheduler(self):
        for host in ('host1', 'host2'):
            self.start_service('compute', host=host)
        created = self.api.post_server_groups(self.anti_affinity)

        self._boot_a_server_to_group(created)

        self.assertEqual(
            {'select_destinations': 1, 'filter_all': 1, 'weigh_objects': 1},
            self.calls,
        )


# Each with all the tests of the ones before it, at another microversion.
class TestV21(WithOurScheduler, stock.ServerGroupTestV21):
    pass


class TestV215(WithOurScheduler, stock.ServerGroupTestV215):
    pass


class TestV264(WithOurScheduler, stock.ServerGroupTestV264):
    pass


class TestV295(WithOurScheduler, stock.ServerGroupTestV295):
    pass


class TestWithoutAffinityFilter(
    WithOurScheduler, stock.ServerGroupAffinityConfTest
):
    pass


class TestWithoutAntiAffinityFilter(
    WithOurScheduler, stock.ServerGroupAntiAffinityConfTest
):
    pass


class TestWithoutAffinityWeigher(
    WithOurScheduler, stock.ServerGroupSoftAffinityConfTest
):
    pass


class TestWithoutAntiAffinityWeigher(
    WithOurScheduler, stock.ServerGroupSoftAntiAffinityConfTest
):
    pass


class TestMultiCell(WithOurScheduler, stock.ServerGroupTestMultiCell):
    pass


class TestLiveMigration(WithOurScheduler, stock.TestAntiAffinityLiveMigration):
    pass
