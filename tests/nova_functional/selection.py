# SPDX-License-Identifier: Apache-2.0
"""The selection of Nova's functional tests.

It has what places servers or moves them, what reads hints, quotas or the API's
routes, and the regressions of these. Details of hypervisors, the tests of
databases and those of ``nova-manage`` are left out: ours has no part in them.
"""

from collections.abc import Iterable
from collections.abc import Iterator
from importlib import util
import unittest

from tests import shares

ROOT = 'nova.tests.functional'

MODULES = (
    'test_aggregates',
    'test_availability_zones',
    'test_boot_from_volume',
    'test_cold_migrate',
    'test_cross_az_attach',
    'test_cross_cell_migrate',
    'test_instance_actions',
    'test_legacy_v2_compatible_wrapper',
    'test_list_servers_ip_filter',
    'test_middleware',
    'test_multiattach',
    'test_policy',
    'test_routed_networks',
    'test_scheduler',
    'test_server_external_events',
    'test_server_faults',
    'test_server_group',
    'test_server_rescue',
    'test_servers',
    'test_servers_provider_tree',
    'test_servers_resource_request',
    'test_service',
    'test_unified_limits',
    'compute.test_attached_volumes',
    'compute.test_cache_image',
    'compute.test_host_api',
    'compute.test_init_host',
    'compute.test_instance_list',
    'compute.test_live_migration',
    'compute.test_migration_list',
    'compute.test_resource_tracker',
    'libvirt.test_evacuate',
    'libvirt.test_live_migration',
    'libvirt.test_numa_live_migration',
    'libvirt.test_numa_servers',
)

#: Numbers of the bugs.
REGRESSIONS = (
    *(1404867, 1552888, 1595962, 1669054, 1670627, 1671648, 1675570, 1678326),
    *(1679750, 1702454, 1713783, 1718455, 1718512, 1719730, 1732947, 1735407),
    *(1741125, 1741364, 1746483, 1764883, 1780373, 1781286, 1781710, 1784353),
    *(1790204, 1794996, 1797580, 1806064, 1806515, 1815153, 1823370, 1825020),
    *(1825034, 1825537, 1830747, 1831771, 1835822, 1837955, 1839560, 1843090),
    *(1843708, 1845291, 1848343, 1849165, 1852458, 1853009, 1862633, 1888395),
    *(1889108, 1890244, 1893284, 1894966, 1895696, 1896463, 1899649, 1899835),
    *(1902925, 1914777, 1922053, 1938326, 1939545, 1944619, 1978983, 1995153),
    *(2025480, 2040264, 2044235, 2062127, 2085135, 2085975, 2088066, 2108974),
    *(2125052, 2125935, 2134375, 2139351, 2140537, 2143972, 2152697, 2153425),
)

#: Those that need ddt, which the environment of our tests has not.
WITH_DDT = (1879878, 1983753, 2062425, 2102038, 2111440, 2140631)

# These check that the side of a process is in place, before all others.
CHECKS = 'tests.nova_functional.test_in_place'


def modules() -> list[str]:
    """Return the full names of the modules."""
    numbers = (*REGRESSIONS, *(WITH_DDT if util.find_spec('ddt') else ()))
    bugs = (f'regressions.test_bug_{number}' for number in sorted(numbers))
    return [f'{ROOT}.{name}' for name in (*MODULES, *bugs)]


def load(names: Iterable[str]) -> Iterator[unittest.TestCase]:
    """Load all tests of modules, each once."""
    seen = set()
    for name in names:
        suite = unittest.defaultTestLoader.loadTestsFromName(name)
        for test in _flatten(suite):
            if test.id() not in seen:
                seen.add(test.id())
                yield test


def _flatten(tests):
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from _flatten(test)
        else:
            yield test


def draw(
    tests: Iterable[unittest.TestCase], share: int, text: str
) -> list[unittest.TestCase]:
    """Draw one in ``share`` of the tests; another text draws others."""
    return [
        test
        for test in tests
        if is_broken(test) or shares.is_sampled(test.id(), share, text)
    ]


def is_broken(test: unittest.TestCase) -> bool:
    """Check whether this is a module that cannot be imported."""
    return isinstance(test, unittest.loader._FailedTest)


def module_of(name: str) -> str:
    """Return the module in a test's name, without ROOT."""
    parts = name.removeprefix(f'{ROOT}.').split('.')
    return '.'.join(parts[:-2])
