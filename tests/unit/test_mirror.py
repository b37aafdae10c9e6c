# SPDX-License-Identifier: Apache-2.0
"""Check that unit tests mirror the code.

A module has a unit test of its name in the folder of its name, or a line here
that tells which other test fails when the module is wrong.
"""

import pathlib

from oslotest import base

import nova_groupext

PRODUCT = pathlib.Path(nova_groupext.__file__).parent
TESTS = PRODUCT.parent / 'tests'

# {module: test without the prefix "test_"}, both without suffix
ELSEWHERE = {
    'api/actions': 'functional/api/actions',
    'api/adopt': 'later/adopt',
    'api/boot': 'later/boot',
    'api/extend': 'later/hold_lifetime',
    'api/groups': 'functional/api/actions',
    'api/hinted_members': 'unit/api/hints',
    'api/list_query': 'functional/api/pages',
    'api/related': 'later/related',
    'api/rename': 'functional/api/changing',
    'api/schemas/request_schemas': 'functional/api/describing',
    'api/store': 'functional/api/describing',
    'api/views/capabilities': 'functional/api/tenants',
    'api/views/faults': 'unit/api/views',
    'api/views/group_views': 'unit/api/views',
    'api/views/member_views': 'unit/api/views',
    'api/vrt_groups': 'functional/api/personas',
    'api/vrt_members': 'functional/api/changing',
    'api/server_groups': 'functional/server_groups',
    'cloud/cloud': 'later/cloud_life',
    'cloud/command': 'unit/cmd/cloud',
    'cloud/components': 'functional/cloud/parts',
    'cloud/driver': 'functional/cloud/servers',
    'cloud/errors': 'later/cloud_life',
    'cloud/delegation': 'unit/cloud/stub_service',
    'cloud/identity': 'functional/cloud/clients',
    'cloud/image': 'functional/cloud/servers',
    'cloud/network': 'functional/cloud/clients',
    'cloud/placement': 'functional/cloud/capacity',
    'cloud/process': 'unit/cmd/cloud',
    'cloud/seed_data': 'functional/cloud/clients',
    'cloud/services': 'later/cloud_life',
    'cloud/tokens': 'unit/cloud/accounts',
    'cloud/with_groups': 'functional/cloud/parts',
    'cmd/holds': 'functional/holds_command',
    'cmd/planner': 'services/planner_process',
    'cmd/scheduler': 'functional/demo/starting',
    'cmd/scheduler_options': 'unit/samples',
    'conf/database': 'unit/samples',
    'conf/holds': 'unit/samples',
    'conf/limits': 'unit/samples',
    'conf/opts': 'unit/samples',
    'conf/planning': 'unit/samples',
    'conf/reaper': 'unit/samples',
    'conf/topology': 'unit/samples',
    'conf/topology_levels': 'unit/conf/values',
    'conf/vrt': 'unit/samples',
    'db/clock': 'services/objects',
    'db/engine': 'services/engine',
    'db/migration': 'services/migrations',
    'db/models/base': 'services/migrations',
    'db/models/capacity': 'services/migrations',
    'db/models/definition': 'services/migrations',
    'db/models/process': 'services/migrations',
    'db/retries': 'unit/objects/aborted_transactions',
    'exception': 'functional/api/actions',
    'faultpoints': 'services/kills',
    'member_ref': 'unit/api/hints',
    'membership/allowed': 'unit/membership/stored',
    'objects/adoptions': 'services/adopting',
    'objects/base': 'unit/objects/group',
    'objects/boot': 'later/boot',
    'objects/definitions': 'unit/objects/drafts',
    'objects/group_changes': 'unit/objects/group',
    'objects/group_queries': 'unit/objects/group',
    'objects/hold': 'unit/objects/swaps',
    'objects/hold_queries': 'services/reaper',
    'objects/listing': 'functional/api/pages',
    'objects/member': 'unit/objects/transitions',
    'objects/member_placement': 'services/objects',
    'objects/member_queries': 'services/objects',
    'objects/quota_queries': 'services/objects',
    'objects/reservation_queries': 'unit/scheduler/resize/reservations',
    'solver/solve/fork_server': 'unit/solver/solve/forked_process',
    'solver/language/counts': 'unit/solver/language/parser',
    'objects/move': 'unit/objects/move_transitions',
    'objects/placeholder_holds': 'services/placeholders',
    'objects/plan': 'services/objects',
    'objects/planners': 'unit/scheduler/protocol/leases',
    'objects/policy': 'unit/objects/group',
    'objects/proposal': 'services/objects',
    'objects/redeems': 'unit/objects/transitions',
    'objects/revisions': 'unit/objects/swaps',
    'objects/sql_conditions': 'unit/objects/transitions',
    'objects/swap_results': 'unit/objects/swaps',
    'objects/watched_holds': 'services/reaper',
    'policies/rules': 'unit/api/policies',
    'quota': 'unit/api/quota',
    'scheduler/current/current_holds': 'later/revising',
    'scheduler/current/outsiders': 'later/related',
    'scheduler/current/own_capacity': 'services/own_capacity',
    'scheduler/decide/create_draft': 'unit/scheduler/decide/creates',
    'scheduler/decide/propose': 'later/moves',
    'scheduler/decide/rehearsal': 'functional/deadline',
    'scheduler/decide/resize_needs': 'later/resizing',
    'scheduler/decide/solver_process': 'unit/solver/solve/child',
    'scheduler/decide/strategy': 'unit/scheduler/decide/decide',
    'scheduler/filters/holistic_filter': 'functional/hold_and_redeem',
    'scheduler/look/look': 'later/incomplete_snapshots',
    'scheduler/look/reading_gaps': 'services/reading_gaps',
    'scheduler/look/snapshot': 'later/incomplete_snapshots',
    'scheduler/look/solver_problem': 'functional/hold_and_redeem',
    'scheduler/manager': 'functional/redeem_requests',
    'scheduler/nova/host_domains': 'functional/host_domains',
    'scheduler/nova/aggregates': 'functional/nova_readings',
    'scheduler/nova/hosts': 'later/incomplete_snapshots',
    'scheduler/nova/request_specs': 'functional/hold_and_redeem',
    'scheduler/nova/servers': 'services/servers',
    'scheduler/nova/service_states': 'functional/nova_readings',
    'scheduler/nova/stored_hints': 'later/adopt',
    'scheduler/placement/bodies': 'functional/placement_client',
    'scheduler/placement/client': 'functional/placement_client',
    'scheduler/placement/concurrent_reads': 'functional/kept_readings',
    'scheduler/placement/http': 'functional/placement_client',
    'scheduler/placement/implied_candidates': 'services/implied_candidates',
    'scheduler/placement/marked_requests': 'functional/servers_without_hints',
    'scheduler/placement/overcommitment': 'services/overcommit',
    'scheduler/placement/queries': 'services/implied_candidates',
    'scheduler/placement/tree_queries': 'services/implied_candidates',
    'scheduler/planner': 'functional/stopping',
    'scheduler/process_names': 'functional/planner_process',
    'scheduler/reap/statistics': 'functional/log',
    'scheduler/rpcapi': 'functional/redeem_requests',
    'scheduler/weights/holistic': 'functional/hold_and_redeem',
}
# The answers of these parts are compared with the oracle's.
ORACLE = ('solver/',)


class TestMirror(base.BaseTestCase):
    def test_every_module_has_a_test(self):
        untested = [
            module
            for module in _modules()
            if not _test_of(f'unit/{module}').exists()
            and module not in ELSEWHERE
            and not module.startswith(ORACLE)
        ]

        self.assertEqual([], untested)

    def test_only_modules_without_unit_test_are_tested_elsewhere(self):
        modules = {*_modules()}

        self.assertEqual([], sorted(ELSEWHERE.keys() - modules))
        self.assertEqual(
            [], [m for m in ELSEWHERE if _test_of(f'unit/{m}').exists()]
        )

    def test_tests_elsewhere_exist(self):
        self.assertEqual(
            [],
            [
                test
                for test in ELSEWHERE.values()
                if not _test_of(test).exists()
            ],
        )


def _modules():
    """Yield the paths of the modules, without suffix."""
    for path in sorted(PRODUCT.rglob('*.py')):
        module = path.relative_to(PRODUCT).with_suffix('').as_posix()
        is_code = path.stem not in ('__init__', 'aliases')
        if is_code and 'migrations' not in module:
            yield module


def _test_of(module):
    path = TESTS / module
    return path.with_name(f'test_{path.name}.py')
