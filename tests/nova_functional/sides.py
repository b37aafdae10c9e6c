# SPDX-License-Identifier: Apache-2.0
"""The two sides of the comparison: changes to this process, until it ends.

Nova's test classes are not touched. What they start is exchanged where every
one of them takes it from: the paste file, the table of Nova's managers, the
fixture of the API database and ``start_service`` of their base class.
"""

import atexit
import collections
import functools
import pathlib
import shutil
import sqlite3
import tempfile

from nova import service
from nova import test
from nova.conf import CONF
from nova.conf import paths
from nova.tests import fixtures as nova_fixtures
from nova.tests.functional import integrated_helpers

from nova_groupext.cloud import config as try_out
from tests.nova_functional import names
from tests.real_cloud import config as real_cloud
from tests.real_cloud import install_page

MANAGER = 'nova_groupext.scheduler.manager.HolisticSchedulerManager'
FILTER = 'nova_groupext.scheduler.filters.holistic_filter.HolisticFilter'
WEIGHER = 'nova_groupext.scheduler.weights.holistic.HolisticWeigher'

# Polls of a server, half a second each.
PATIENCE = 120

#: Calls of our code: how the tests show that it was in place.
CALLS = collections.Counter()

_installed = None


def installed() -> str | None:
    """Return the side of this process; None before install()."""
    return _installed


def install(side: str) -> None:
    """Make this process one of the given side."""
    global _installed
    if _installed == side:
        return
    if _installed or side not in names.SIDES:
        raise ValueError(f'{side} after {_installed}')
    _installed = side
    _wait_longer()
    if side == names.STOCK:
        _use_paste_file(pathlib.Path(try_out.shipped_paste()))
        return
    _use_paste_file(_edited_paste_file())
    service.SERVICE_MANAGERS['nova-scheduler'] = MANAGER
    _add_our_filter_and_weigher()
    _add_our_tables()
    _count_calls()


def _wait_longer():
    """Wait for servers longer than Nova's five seconds.

    A busy machine needs that, on both sides.
    """
    helpers = integrated_helpers.InstanceHelperMixin
    stock = helpers._wait_for_server_parameter

    @functools.wraps(stock)
    def wait(self, server, expected_params, max_retries=10, **kwargs):
        return stock(
            self, server, expected_params, max(max_retries, PATIENCE), **kwargs
        )

    helpers._wait_for_server_parameter = wait


def _use_paste_file(file):
    """Load the API from this file: the wheel has Nova's in another folder."""
    stock = paths.state_path_def

    def path(relative):
        is_paste_file = relative.endswith('api-paste.ini')
        return str(file) if is_paste_file else stock(relative)

    paths.state_path_def = path


def _edited_paste_file():
    """Return Nova's paste file, changed as the install page says."""
    file = _folder() / 'api-paste.ini'
    shutil.copy(try_out.shipped_paste(), file)
    real_cloud.edit_paste(file, install_page.block('Change the paste file'))
    return file


@functools.cache
def _folder():
    folder = tempfile.mkdtemp(prefix='nova-functional-')
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pathlib.Path(folder)


def _add_our_filter_and_weigher():
    """Add them to what a test configures, when it starts its scheduler."""
    stock = test.TestCase.start_service

    @functools.wraps(stock)
    def start(self, name, *args, **kwargs):
        if name == 'scheduler':
            _add_option('available_filters', FILTER)
            _add_option('enabled_filters', FILTER.rpartition('.')[-1])
            _add_option('weight_classes', WEIGHER)
        return stock(self, name, *args, **kwargs)

    test.TestCase.start_service = start


def _add_option(name, value):
    """Add to a list of [filter_scheduler]; Nova's fixture resets it."""
    configured = CONF.filter_scheduler[name]
    if value not in configured:
        CONF.set_override(name, [*configured, value], 'filter_scheduler')


def _add_our_tables():
    """Create our tables in the API database of each test."""
    # These register our options, which a stock process does not have.
    from nova_groupext.db import engine

    fixture = nova_fixtures.Database
    stock = fixture._apply_schema

    @functools.wraps(stock)
    def apply(self):
        stock(self)
        if self.database == 'api':
            script = _tables_script()
            api_engine = self.get_engine()
            with api_engine.connect() as connection:
                connection.connection.executescript(script)
            _connect(api_engine.url)
            self.addCleanup(engine.reset)

    fixture._apply_schema = apply


def _connect(url):
    """Name the database, as Nova's fixture does not write it to CONF."""
    from nova_groupext.db import engine

    CONF.set_override(
        'connection', url.render_as_string(hide_password=False), 'vrt_database'
    )
    engine.configure()


@functools.cache
def _tables_script():
    """Return the SQL of our tables: to migrate takes longer than a copy."""
    import sqlalchemy as sa

    from nova_groupext.db import engine
    from nova_groupext.db import migration

    file = _folder() / 'tables.sqlite'
    _connect(sa.URL.create('sqlite', database=str(file)))
    migration.sync()
    engine.reset()
    connection = sqlite3.connect(file)
    try:
        return '\n'.join(connection.iterdump())
    finally:
        connection.close()


def _count_calls():
    from nova_groupext.api import app
    from nova_groupext.api import hints
    from nova_groupext.scheduler import manager
    from nova_groupext.scheduler.filters import holistic_filter
    from nova_groupext.scheduler.weights import holistic

    for owner, name in (
        (app.APIRouter, '__init__'),
        (hints.HintsFilter, '__init__'),
        (manager.HolisticSchedulerManager, 'select_destinations'),
        (holistic_filter.HolisticFilter, 'filter_all'),
        (holistic.HolisticWeigher, 'weigh_objects'),
    ):
        _count(owner, name)


def _count(owner, name):
    stock = getattr(owner, name)
    key = f'{owner.__name__}.{name}'

    @functools.wraps(stock)
    def counted(*args, **kwargs):
        CALLS[key] += 1
        return stock(*args, **kwargs)

    setattr(owner, name, counted)
