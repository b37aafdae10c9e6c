# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-status, as an operator types it."""

import contextlib
import io
import json

import fixtures
from nova import context
from oslotest import base

from nova_groupext.cmd import status
from nova_groupext.conf import CONF
from nova_groupext.db import engine
from nova_groupext.db import migration
from tests.unit.cmd import running

SUCCESS, WARNING, FAILURE = range(3)

RETRIES = 'allocation_conflict_retry_count'

LEVELS = '[vrt]\ntopology_levels = rack:rack'

AVAILABLE = (
    'available_filters = nova.scheduler.filters.all_filters',
    'available_filters = '
    'nova_groupext.scheduler.filters.holistic_filter.HolisticFilter',
)
ENABLED = 'enabled_filters = ComputeFilter, HolisticFilter'
WEIGHED = (
    'weight_classes = nova.scheduler.weights.all_weighers, '
    'nova_groupext.scheduler.weights.holistic.HolisticWeigher'
)
SCHEDULING = ('[filter_scheduler]', *AVAILABLE, ENABLED, WEIGHED)


class StatusCase(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.folder = self.useFixture(fixtures.TempDir()).path
        self.addCleanup(engine.reset)

    def check(self, *sections):
        """Return (exit status, {check: (result, details)})."""
        engine.reset()
        name = f'{self.folder}/nova.conf'
        with open(name, 'w') as file:
            file.write('\n'.join(sections))
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = status.main(
                ['--config-file', name, 'upgrade', 'check', '--json']
            )
        return code, {
            each['check']: (each['result'], each['details'])
            for each in json.loads(out.getvalue())['checks']
        }

    def tables(self, *sections):
        _code, results = self.check(*sections)
        return results['Tables of VRT groups']

    def placement(self, *sections):
        _code, results = self.check(*sections)
        return results['Placement and concurrent writers']


class TestStatus(StatusCase):
    def database(self, section='vrt_database', name='vrt'):
        return f'[{section}]\nconnection=sqlite:///{self.folder}/{name}.sqlite'

    def sync(self):
        url = f'sqlite:///{self.folder}/vrt.sqlite'
        CONF.set_override('connection', url, 'vrt_database')
        self.addCleanup(CONF.clear_override, 'connection', 'vrt_database')
        engine.configure()
        migration.sync()

    def test_healthy_cloud_passes_all_checks(self):
        self.sync()
        self.planner()

        code, results = self.check(self.database(), LEVELS, *SCHEDULING)

        self.assertEqual(0, code)
        self.assertEqual({SUCCESS}, {each for each, _ in results.values()})
        self.assertEqual(
            (SUCCESS, 'Number of running planners: 1.'), results['Planners']
        )
        self.assertEqual(
            (SUCCESS, f'The tables are at revision {migration.head()}.'),
            results['Tables of VRT groups'],
        )

    def planner(self, **values):
        """Store a planner that has just sent a heartbeat."""
        return running.create_planner(context.get_admin_context(), **values)

    def planners(self):
        _code, results = self.check(self.database())
        return results['Planners']

    def test_cloud_without_planners_is_a_warning(self):
        self.sync()

        result, details = self.planners()

        self.assertEqual(WARNING, result)
        self.assertIn('No planner is running', details)

    def test_planner_with_a_wrong_revision_or_clock_is_a_failure(self):
        self.sync()
        for values, reason in (
            ({'revision': 'older'}, 'tables of revision older'),
            ({'clock_offset': -31.0}, 'its clock differs by +31.0 s'),
            ({'clock_offset': 31.0}, 'its clock differs by -31.0 s'),
        ):
            planner = self.planner(**values)

            result, details = self.planners()

            self.assertEqual(FAILURE, result)
            self.assertIn(reason, details)
            planner.remove(context.get_admin_context())

    def test_contradictory_options_are_a_failure(self):
        for section, reason in (
            ('[vrt]\noperation_lease = 60', 'is still being planned'),
            (
                '[vrt]\nmax_hold_lifetime = 86399',
                'released before their group',
            ),
            (
                '[vrt]\nredeem_replacement_time_limit = 50\n[DEFAULT]\n'
                'rpc_response_timeout = 50',
                'Nova abandons servers',
            ),
        ):
            _code, results = self.check(section)

            result, details = results['Options']
            self.assertEqual(FAILURE, result)
            self.assertIn(reason, details)

    def options(self, *sections):
        _code, results = self.check(*sections)
        return results['Options']

    def test_max_hold_lifetime_equal_to_that_of_groups_passes(self):
        result, _details = self.options(LEVELS, 'max_hold_lifetime = 86400')

        self.assertEqual(SUCCESS, result)

    def test_default_options_with_levels_pass(self):
        self.assertEqual(SUCCESS, self.options(LEVELS)[0])

    def test_missing_topology_levels_are_a_warning(self):
        result, details = self.options()

        self.assertEqual(WARNING, result)
        self.assertIn('[vrt]topology_levels', details)
        self.assertIn('rack:rack', details)

    def test_invalid_options_are_the_only_failures(self):
        """Other checks would read the invalid values."""
        code, results = self.check(
            '[vrt]',
            'topology_levels = rack:rack, rack:foo',
            'heartbeat_interval = soon',
            '[vrt_database]',
            'max_retries = often',
        )

        self.assertEqual(FAILURE, code)
        self.assertEqual(['Options'], [*results])
        result, details = results['Options']
        self.assertEqual(FAILURE, result)
        for option in (
            '[vrt]topology_levels',
            '[vrt]heartbeat_interval',
            '[vrt_database]max_retries',
        ):
            self.assertIn(f'{option} is invalid', details)

    def scheduling(self, *lines):
        _code, results = self.check('[filter_scheduler]', *lines)
        return results['Filter and weigher']

    def test_invalid_options_of_nova_and_placement_are_failures(self):
        for section, option in (
            ('DEFAULT', 'rpc_response_timeout'),
            ('placement', RETRIES),
        ):
            code, results = self.check(f'[{section}]\n{option} = soon')

            self.assertEqual(FAILURE, code)
            [(result, details)] = results.values()
            self.assertEqual(FAILURE, result)
            self.assertIn(f'[{section}]{option} is invalid', details)

    def test_missing_filter_or_weigher_is_a_failure(self):
        result, details = self.scheduling()

        self.assertEqual(FAILURE, result)
        for option in (
            'available_filters is',
            'enabled_filters lacks HolisticFilter',
            'weight_classes lacks',
        ):
            self.assertIn(option, details)

    def test_filter_that_is_available_but_disabled_is_a_failure(self):
        result, details = self.scheduling(*AVAILABLE, WEIGHED)

        self.assertEqual(FAILURE, result)
        self.assertIn('enabled_filters lacks HolisticFilter', details)

    def test_filter_that_is_enabled_but_not_available_is_a_failure(self):
        result, details = self.scheduling(ENABLED, WEIGHED)

        self.assertEqual(FAILURE, result)
        self.assertIn('cannot be enabled', details)

    def test_class_that_cannot_be_loaded_is_a_failure(self):
        for lines in (
            ('available_filters = nova_groupext.nowhere.Filter', WEIGHED),
            (*AVAILABLE, 'weight_classes = nova_groupext.nowhere.Weigher'),
        ):
            result, details = self.scheduling(ENABLED, *lines)

            self.assertEqual(FAILURE, result)
            self.assertIn('nova_groupext.nowhere', details)

    def test_class_without_its_module_is_a_failure(self):
        for option, line in (
            ('available_filters', ('available_filters = Filter', WEIGHED)),
            ('weight_classes', (*AVAILABLE, 'weight_classes = Weigher')),
        ):
            result, details = self.scheduling(ENABLED, *line)

            self.assertEqual(FAILURE, result)
            self.assertIn(f'{option} names a class', details)

    def test_planners_without_tables_are_a_warning(self):
        self.assertEqual(WARNING, self.planners()[0])

    def test_tables_default_to_novas_api_database(self):
        self.sync()

        result, _details = self.tables(self.database('api_database'))

        self.assertEqual(SUCCESS, result)

    def test_the_worst_result_is_the_exit_status(self):
        self.assertEqual(FAILURE, self.check(self.database())[0])

    def test_missing_tables_are_a_failure(self):
        result, details = self.tables(self.database())

        self.assertEqual(FAILURE, result)
        self.assertIn('none', details)
        self.assertIn('nova-groupext-manage db sync', details)

    def test_unreachable_database_is_a_failure(self):
        result, details = self.tables(self.database(name='nowhere/vrt'))

        self.assertEqual(FAILURE, result)
        self.assertIn('cannot be used', details)

    def test_missing_connection_is_a_failure(self):
        result, details = self.tables()

        self.assertEqual(FAILURE, result)
        self.assertIn('[vrt_database]connection', details)
        self.assertEqual(WARNING, self.placement()[0])

    def test_invalid_database_url_is_a_failure(self):
        for url in ('nonsense', 'mysql+pymysql://nova:secret@db:33o6/nova'):
            section = f'[vrt_database]\nconnection={url}'

            result, details = self.tables(section)

            self.assertEqual(FAILURE, result)
            self.assertNotIn('secret', details)
            self.assertEqual(WARNING, self.placement(section)[0])

    def test_wrong_parameter_of_the_connection_names_the_option(self):
        driver_refuses = (
            'connection=mysql+pymysql://nova:secret@db/nova\n'
            'connection_parameters=nosuch=1'
        )
        sqlalchemy_refuses = (
            'connection=sqlite://\nconnection_parameters=timeout=soon'
        )
        for checked, section, lines in (
            (self.tables, 'vrt_database', driver_refuses),
            (self.tables, 'vrt_database', sqlalchemy_refuses),
            (self.placement, 'placement_database', driver_refuses),
        ):
            _result, details = checked(f'[{section}]\n{lines}')

            self.assertIn(f'[{section}]connection_parameters', details)
            self.assertNotIn('secret', details)

    def test_single_attempt_of_placement_passes(self):
        result, details = self.placement(f'[placement]\n{RETRIES}=1')

        self.assertEqual(SUCCESS, result)
        self.assertIn(RETRIES, details)

    def test_several_attempts_of_placement_are_a_warning(self):
        result, details = self.placement(
            f'[placement]\n{RETRIES}=2',
            '[placement_database]\nconnection=postgresql://nobody/nowhere',
        )

        self.assertEqual(WARNING, result)
        self.assertIn(f'{RETRIES} = 1', details)

    def test_sqlite_database_of_placement_passes(self):
        for section in ('vrt_database', 'placement_database'):
            result, details = self.placement(self.database(section))

            self.assertEqual(SUCCESS, result)
            self.assertIn('[placement_database]connection', details)

    def test_missing_driver_of_placement_is_a_warning(self):
        result, _details = self.placement(
            '[placement_database]\nconnection=mysql+nosuchdriver://x/y'
        )

        self.assertEqual(WARNING, result)

    def test_missing_configuration_file_is_an_error(self):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            code = status.main(['--config-file=nope', 'upgrade', 'check'])

        self.assertEqual(255, code)
        self.assertIn('nope', err.getvalue())
