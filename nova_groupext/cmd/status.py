# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-status: upgrade checks, with the usage of nova-status."""

import functools
import operator
import sys

from nova import context as nova_context
from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_upgradecheck import upgradecheck
import sqlalchemy as sa

from nova_groupext.cmd import manage
from nova_groupext.cmd import scheduler_options
from nova_groupext.conf import database
from nova_groupext.conf import opts
from nova_groupext.conf import values
from nova_groupext.conf import vrt
from nova_groupext.db import engine
from nova_groupext.db import migration
from nova_groupext.scheduler import planner_health

# Exit status of nova-status if it cannot run its checks.
ERROR = 255

SNAPSHOTS = 'innodb_snapshot_isolation'
# MariaDB 11.1 renamed the variable; 'REPEATABLE-READ' is the default.
ISOLATION_VARIABLES = ('transaction_isolation', 'tx_isolation')
# Levels at which each statement has its own snapshot.
UNSAFE_LEVELS = ('READ-COMMITTED', 'READ-UNCOMMITTED')

ADVICE = (
    'Set [placement]allocation_conflict_retry_count = 1 in placement.conf '
    'and pass that file with --config-file, so that this check reads it. '
    'Until then Placement can overcommit hosts: holds are verified and '
    'released, servers are not.'
)


# Contradicting values of two options, each (section, name): the first option,
# the comparison that is wrong, the second option, and the consequence.
CONTRADICTIONS = (
    (
        ('vrt', 'operation_lease'),
        'not longer',
        ('vrt', 'planning_time_limit'),
        'another planner may take over a group that is still being planned',
    ),
    (
        ('vrt', 'max_hold_lifetime'),
        'shorter',
        ('vrt', 'max_expires_in'),
        'members are released before their group expires',
    ),
    (
        ('DEFAULT', 'rpc_response_timeout'),
        'not longer',
        ('vrt', 'redeem_replacement_time_limit'),
        'Nova abandons servers while planners still search for another host',
    ),
)

# Options of Nova and Placement that the checks read as numbers.
OTHER_OPTIONS = (
    # An option of oslo.messaging, with its default.
    ('DEFAULT', [cfg.IntOpt('rpc_response_timeout', default=60)]),
    ('placement', [cfg.IntOpt('allocation_conflict_retry_count')]),
)

_COMPARISONS = {'not longer': operator.le, 'shorter': operator.lt}

NO_LEVELS = (
    '[vrt]topology_levels is empty, so that host and zone are the only scopes '
    'of policies. To use racks, set it to, for example, rack:rack, and set '
    'the metadata "rack" of the host aggregates.'
)


class Checks(upgradecheck.UpgradeCommands):
    """Upgrade checks, on options that may include those of Placement."""

    def __init__(self, conf):
        self._conf = conf

    def _check_tables(self):
        """Check that the tables are at the revision of this release."""
        # Report an unreachable database at once instead of retrying.
        self._conf.set_override('max_retries', 0, 'vrt_database')
        try:
            engine.configure(self._conf)
            revision = migration.version()
        except db_exc.CantStartEngineError as exc:
            return _failure(manage.ADVICE[type(exc)])
        except manage.OPERATOR_ERRORS as exc:
            return _failure(f'The database cannot be used: {exc}')
        required = migration.head()
        if revision != required:
            return _failure(
                manage.OTHER_REVISION.format(
                    current=revision or 'none', required=required
                )
            )
        return _success(f'The tables are at revision {revision}.')

    def _check_planners(self):
        """Check that planners run, and that each is healthy."""
        try:
            health = planner_health.read(
                nova_context.get_admin_context(), self._conf.vrt
            )
        except (db_exc.CantStartEngineError, *manage.OPERATOR_ERRORS):
            return _warning(
                'The planners are unknown: the database could not be read.'
            )
        if not health:
            return _warning(planner_health.NO_PLANNER)
        problems = [
            f'Planner {each["pid"]} on {each["host"]}: {phrase}.'
            for each in health
            for phrase in each['wrong']
        ]
        if problems:
            return _failure(' '.join(problems))
        return _success(f'Number of running planners: {len(health)}.')

    def _check_scheduling(self):
        """Check that Nova's scheduler uses our filter and our weigher."""
        problems = scheduler_options.find_problems(self._conf.filter_scheduler)
        if problems:
            return _failure(' '.join(problems))
        return _success('HolisticFilter and HolisticWeigher are enabled.')

    def _check_options(self):
        """Check that our options are valid and do not contradict others."""
        problems = self._find_invalid() or [
            f'{_option_name(first)} is {comparison} than '
            f'{_option_name(second)}: {consequence}.'
            for first, comparison, second, consequence in CONTRADICTIONS
            if _COMPARISONS[comparison](
                self._value(first), self._value(second)
            )
        ]
        if problems:
            return _failure(' '.join(problems))
        if not self._conf.vrt.topology_levels:
            return _warning(NO_LEVELS)
        return _success('All are valid, and none contradicts another one.')

    def _find_invalid(self):
        return values.find_invalid(
            self._conf, [*opts.list_opts(), *OTHER_OPTIONS]
        )

    def _value(self, option):
        return values.read(self._conf, *option)

    def _check_placement(self):
        """Check that concurrent writers cannot overcommit Placement."""
        if self._conf.placement.allocation_conflict_retry_count == 1:
            return _success('[placement]allocation_conflict_retry_count is 1.')
        checked, section = self._placement_database()
        if not self._conf[section].connection:
            return _warning(f'No database is configured. {ADVICE}')
        try:
            risk = _risk(_url(self._conf[section]), section)
        except (sa.exc.SQLAlchemyError, ModuleNotFoundError) as exc:
            risk = f'it cannot be used: {exc}'
        if risk is None:
            return _success(f'{checked}: it is safe.')
        return _warning(f'{checked}: {risk}. {ADVICE}')

    def _placement_database(self):
        """Return (text, section) of Placement's database, or else of ours."""
        conf = self._conf
        if conf.placement_database.connection:
            return (
                'The server of [placement_database]connection was checked',
                'placement_database',
            )
        return (
            '[placement_database]connection is not set in the files that '
            'were read; the server of our own tables was checked',
            'vrt_database' if conf.vrt_database.connection else 'api_database',
        )

    _upgrade_checks = (
        ('Options', _check_options),
        ('Tables of VRT groups', _check_tables),
        ('Planners', _check_planners),
        ('Filter and weigher', _check_scheduling),
        ('Placement and concurrent writers', _check_placement),
    )

    def check(self):
        """Run all checks, or only that of options if one has a wrong value."""
        if self._find_invalid():
            # The other checks would read the wrong value.
            self._upgrade_checks = self._upgrade_checks[:1]
        return super().check()


def _url(section):
    """Return the database URL of a section, built as oslo.db does."""
    url = engine.parse_url(section.connection)
    return url.update_query_string(section.connection_parameters or '')


def _risk(url, section):
    """Return why Placement can overcommit on this server, or None.

    :param section: configuration section of the URL
    """
    kind = url.get_backend_name()
    if kind == 'sqlite':
        # SQLite has one writer at a time.
        return None
    if kind not in ('mysql', 'mariadb'):
        return f'{kind} does not isolate concurrent writers'
    names = ', '.join(
        f"'{name}'" for name in (SNAPSHOTS, *ISOLATION_VARIABLES)
    )
    make_engine = functools.partial(
        sa.create_engine, url, poolclass=sa.NullPool
    )
    with engine.connect(make_engine, section) as connection:
        variables = dict(
            connection.exec_driver_sql(
                f'SHOW VARIABLES WHERE Variable_name IN ({names})'
            ).all()
        )
    if variables.get(SNAPSHOTS) != 'ON':
        return f'{SNAPSHOTS} is {variables.get(SNAPSHOTS, "not supported")}'
    for name in ISOLATION_VARIABLES:
        if variables.get(name) in UNSAFE_LEVELS:
            return (
                f'{SNAPSHOTS} has no effect while {name} is {variables[name]}'
            )
    return None


def _option_name(option):
    return '[{}]{}'.format(*option)


def _success(details):
    return upgradecheck.Result(upgradecheck.Code.SUCCESS, details)


def _warning(details):
    return upgradecheck.Result(upgradecheck.Code.WARNING, details)


def _failure(details):
    return upgradecheck.Result(upgradecheck.Code.FAILURE, details)


def _options():
    """Return a configuration with only the options that are checked.

    Nova's configuration is not usable: the files may include Placement's,
    whose options in [placement] differ from Nova's.
    """
    conf = cfg.ConfigOpts()
    vrt.register_opts(conf)
    # By name: one OptGroup in two configurations would share its values.
    for group, options in database.list_opts().items():
        conf.register_opts(options, group.name)
    for group in ('api_database', 'placement_database'):
        conf.register_opt(cfg.StrOpt('connection', secret=True), group)
        conf.register_opt(cfg.StrOpt('connection_parameters'), group)
    for section, options in OTHER_OPTIONS:
        conf.register_opts(options, None if section == 'DEFAULT' else section)
    scheduler_options.register_opts(conf)
    return conf


def main(argv=None):
    """Run the command and return the worst result as exit status."""
    conf = _options()
    try:
        return upgradecheck.main(
            conf,
            project='nova',
            upgrade_command=Checks(conf),
            argv=sys.argv[1:] if argv is None else argv,
        )
    except cfg.Error as exc:
        sys.stderr.write(f'nova-groupext-status: {exc}\n')
        return ERROR


if __name__ == '__main__':
    sys.exit(main())
