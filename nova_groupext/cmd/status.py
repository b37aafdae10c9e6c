# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-status: is all as it should be? Works as nova-status does."""

import sys

from nova import context as nova_context
from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_upgradecheck import upgradecheck
import sqlalchemy as sa

from nova_groupext.cmd import manage
from nova_groupext.cmd import planners as manage_planners
from nova_groupext.conf import database
from nova_groupext.conf import vrt
from nova_groupext.db import engine
from nova_groupext.db import migration
from nova_groupext.scheduler.follow import planners

# As nova-status answers when it does not get as far as checking.
ERROR = 255

SNAPSHOTS = 'innodb_snapshot_isolation'
# MariaDB 11.1 has a new name for the level; 'REPEATABLE-READ' is the default.
LEVELS = ('transaction_isolation', 'tx_isolation')
# Where every statement reads anew, there is no snapshot to be isolated.
WITHOUT_SNAPSHOT = ('READ-COMMITTED', 'READ-UNCOMMITTED')

ADVICE = (
    'Set [placement]allocation_conflict_retry_count = 1 in placement.conf '
    'and name that file with --config-file, so that it is seen here. Until '
    'then Placement can give more away than there is; holds are verified '
    'and undone, servers are not.'
)


# Pairs of options, as (section, option): the first one has to be longer, both
# in seconds. And what happens otherwise.
LONGER = (
    (
        ('vrt', 'lease'),
        ('vrt', 'planning_time_limit'),
        'another planner takes a group over while it is being decided',
    ),
    (
        ('vrt', 'max_hold_lifetime'),
        ('vrt', 'max_expires_in'),
        'members are released before their group expires',
    ),
    (
        ('DEFAULT', 'rpc_response_timeout'),
        ('vrt', 'redeem_replan_time_limit'),
        'Nova gives up servers that another place is being found for',
    ),
)


class Checks(upgradecheck.UpgradeCommands):
    """The checks, on options that may come from Placement's files too."""

    def __init__(self, conf):
        self._conf = conf

    def _check_tables(self):
        """The tables are there and as this release wants them."""
        # What does not answer now is the answer; nobody is waited for.
        self._conf.set_override('max_retries', 0, 'vrt_database')
        try:
            engine.configure(self._conf)
            found = migration.version()
        except db_exc.CantStartEngineError as exc:
            return _failure(manage.ADVICE[type(exc)])
        except manage.MISTAKES as exc:
            return _failure(f'The database does not answer: {exc}')
        wanted = migration.head()
        if found != wanted:
            return _failure(
                manage.OTHER_TABLES.format(
                    found=found or 'none', wanted=wanted
                )
            )
        return _success(f'The tables are at revision {found}.')

    def _check_planners(self):
        """Planners run, of this release, and agree on the time."""
        try:
            found = planners.read(
                nova_context.get_admin_context(), self._conf.vrt
            )
        except (db_exc.CantStartEngineError, *manage.MISTAKES):
            return _warning('It is not known which planners there are.')
        if not found:
            return _warning(manage_planners.NONE)
        wrong = [
            f'Planner {each["pid"]} on {each["host"]}: {phrase}.'
            for each in found
            for phrase in each['wrong']
        ]
        if wrong:
            return _failure(' '.join(wrong))
        return _success(f'{len(found)} planners run.')

    def _check_options(self):
        """No option contradicts another one."""
        wrong = [
            f'{_told(longer)} is not longer than {_told(shorter)}: {what}.'
            for longer, shorter, what in LONGER
            if self._value(longer) <= self._value(shorter)
        ]
        if wrong:
            return _failure(' '.join(wrong))
        return _success('No option contradicts another one.')

    def _value(self, option):
        section, name = option
        return (
            self._conf[name]
            if section == 'DEFAULT'
            else (self._conf[section][name])
        )

    def _check_placement(self):
        """Placement never gives away more than there is."""
        if self._conf.placement.allocation_conflict_retry_count == 1:
            return _success('[placement]allocation_conflict_retry_count is 1.')
        looked_at, section = self._ledger()
        if not section.connection:
            return _warning(f'No database is configured. {ADVICE}')
        try:
            risk = _risk(_url(section))
        except (sa.exc.SQLAlchemyError, ModuleNotFoundError) as exc:
            risk = f'it does not answer: {exc}'
        if risk is None:
            return _success(f'{looked_at}: it is safe.')
        return _warning(f'{looked_at}: {risk}. {ADVICE}')

    def _ledger(self):
        """Return what stands for Placement's database, and its options."""
        conf = self._conf
        if conf.placement_database.connection:
            return (
                'The server of [placement_database]connection was looked at',
                conf.placement_database,
            )
        return (
            '[placement_database]connection is not set in the files that '
            'were read; the server of our own tables was looked at',
            conf.vrt_database
            if conf.vrt_database.connection
            else conf.api_database,
        )

    _upgrade_checks = (
        ('Tables of VRT groups', _check_tables),
        ('Planners', _check_planners),
        ('Options', _check_options),
        ('Placement and parallel writers', _check_placement),
    )


def _url(section):
    """Return the URL that a section of options leads to, as oslo.db does."""
    url = sa.make_url(section.connection)
    return url.update_query_string(section.connection_parameters or '')


def _risk(url):
    """Tell why Placement overcommits on this server; None if it does not."""
    kind = url.get_backend_name()
    if kind == 'sqlite':
        # It has one writer at a time.
        return None
    if kind not in ('mysql', 'mariadb'):
        return f'parallel writers are not kept apart by {kind}'
    names = ', '.join(f"'{name}'" for name in (SNAPSHOTS, *LEVELS))
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        found = dict(
            connection.exec_driver_sql(
                f'SHOW VARIABLES WHERE Variable_name IN ({names})'
            ).all()
        )
    if found.get(SNAPSHOTS) != 'ON':
        return f'{SNAPSHOTS} is {found.get(SNAPSHOTS, "not known to it")}'
    for name in LEVELS:
        if found.get(name) in WITHOUT_SNAPSHOT:
            return f'{SNAPSHOTS} does nothing while {name} is {found[name]}'
    return None


def _told(option):
    return '[{}]{}'.format(*option)


def _success(details):
    return upgradecheck.Result(upgradecheck.Code.SUCCESS, details)


def _warning(details):
    return upgradecheck.Result(upgradecheck.Code.WARNING, details)


def _failure(details):
    return upgradecheck.Result(upgradecheck.Code.FAILURE, details)


def _options():
    """Return a configuration with the few options that are looked at.

    It is none of Nova's: the files may be Placement's as well, whose options
    in [placement] are others than Nova's.
    """
    conf = cfg.ConfigOpts()
    vrt.register_opts(conf)
    # By name: a group that is registered twice shares its values.
    for group, options in database.list_opts().items():
        conf.register_opts(options, group.name)
    for group in ('api_database', 'placement_database'):
        conf.register_opt(cfg.StrOpt('connection', secret=True), group)
        conf.register_opt(cfg.StrOpt('connection_parameters'), group)
    conf.register_opt(
        cfg.IntOpt('allocation_conflict_retry_count'), 'placement'
    )
    # Of oslo.messaging, with its default.
    conf.register_opt(cfg.IntOpt('rpc_response_timeout', default=60))
    return conf


def main(argv=None):
    """Run the command; returns its exit status, the worst result."""
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
