# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-manage: the operator's command."""

import argparse
import logging
import sys

from alembic import util
from keystoneauth1 import exceptions as ks_exc
from nova import config
import nova.conf
from oslo_config import cfg
from oslo_db import exception as db_exc
import oslo_messaging as messaging

from nova_groupext import exception
from nova_groupext.cmd import holds
from nova_groupext.cmd import planners
from nova_groupext.conf import CONF
from nova_groupext.db import database_errors
from nova_groupext.db import engine
from nova_groupext.db import migration
from nova_groupext.objects import keys

# Errors that an operator can correct, reported without a traceback: files,
# options, revisions, the database, and services that do not answer.
OPERATOR_ERRORS = (
    cfg.Error,
    util.CommandError,
    messaging.MessagingException,
    db_exc.CantStartEngineError,
    # Includes invalid URLs and unknown kinds of databases.
    *database_errors.ANY,
    # The driver of the operator's database is not installed.
    ModuleNotFoundError,
    exception.PlacementUnavailable,
    exception.SchemaMismatch,
    ks_exc.ClientException,
)

# Error whose text does not name the option to set -> advice.
ADVICE = {
    db_exc.CantStartEngineError: (
        'No database is configured. Set [vrt_database]connection, or '
        "[api_database]connection, in Nova's configuration; use "
        '--config-file for a file in another location.'
    ),
    ks_exc.MissingAuthPlugin: (
        'Access to Placement is not configured. Set auth_type and the '
        "options that it needs in [placement] of Nova's configuration; use "
        '--config-file for a file in another location.'
    ),
}

NO_TABLES = (
    'The tables of VRT groups do not exist. Run "nova-groupext-manage db '
    'sync".'
)
OTHER_REVISION = (
    'The tables are at revision {current}, but this release requires '
    '{required}. Run "nova-groupext-manage db sync".'
)


def _sync(args):
    migration.sync(args.revision)
    if args.revision == 'head' and not CONF.vrt.domain_key:
        # Created here so that no API request has to create it.
        keys.get_or_create(keys.DOMAIN_KEY)
    return 0


def _version(args):
    print(migration.version() or 'none')  # noqa: T201
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog='nova-groupext-manage', description=__doc__
    )
    parser.add_argument(
        '--config-file',
        action='append',
        default=[],
        help='configuration file of Nova; may be repeated (default: the '
        "files that Nova's services read)",
    )
    parser.add_argument(
        '--config-dir',
        action='append',
        default=[],
        help='directory of configuration snippets; may be repeated',
    )
    # Without dest, errors list the choices as the missing argument.
    nouns = parser.add_subparsers(required=True)
    db = nouns.add_parser('db', help='manage the tables of VRT groups')
    # The tables can be created before Nova is configured.
    db.set_defaults(needs_nova=False)
    verbs = db.add_subparsers(required=True)
    sync = verbs.add_parser(
        'sync', help='create the tables, or upgrade them to a revision'
    )
    sync.add_argument('revision', nargs='?', default='head')
    sync.set_defaults(run=_sync)
    version = verbs.add_parser(
        'version', help='print the revision of the tables'
    )
    version.set_defaults(run=_version)
    holds.add_verbs(nouns)
    planners.add_verbs(nouns)
    return parser


def _config_args(args):
    """Return the arguments for Nova's configuration parser."""
    return [
        f'--{name}={value}'
        for name, values in (
            ('config-file', args.config_file),
            ('config-dir', args.config_dir),
        )
        for value in values
    ]


def main(argv=None):
    """Run the command and return its exit status."""
    args = _parser().parse_args(argv)
    # oslo.db logs a traceback of every error; operators need one line.
    for name in ('oslo_db.api', 'oslo_db.sqlalchemy.exc_filters'):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        config.parse_args(
            ['nova-groupext-manage', *_config_args(args)],
            init_rpc=args.needs_nova,
            configure_db=args.needs_nova,
        )
        engine.configure(nova.conf.CONF)
        return args.run(args)
    except OPERATOR_ERRORS as exc:
        sys.stderr.write(f'nova-groupext-manage: {error_text(exc)}\n')
        return 1


def check_tables():
    """Refuse missing tables and tables of another release.

    :raises: SchemaMismatch, or a database error in OPERATOR_ERRORS
    """
    current, required = migration.version(), migration.head()
    if current is None:
        raise exception.SchemaMismatch(reason=NO_TABLES)
    if current != required:
        raise exception.SchemaMismatch(
            reason=OTHER_REVISION.format(current=current, required=required)
        )


def error_text(error):
    """Return the text of an error for operators."""
    if database_errors.is_missing_table(error):
        return NO_TABLES
    text = str(error)
    if isinstance(error, database_errors.ANY):
        # SQLAlchemy adds the statement and a link to its documentation.
        text = text.partition('\n')[0]
    return ADVICE.get(type(error), text)


if __name__ == '__main__':
    sys.exit(main())
