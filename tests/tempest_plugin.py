# SPDX-License-Identifier: Apache-2.0
"""Those modules of the Tempest plugin that import nothing of Tempest.

So the API's own tests compare the plugin with the API, in an environment
that has no Tempest.
"""

import importlib
import pathlib
import sys

ROOT = pathlib.Path(__file__).parents[1] / 'tempest'
PACKAGE = 'nova_groupext_tempest_plugin'


def _load(name):
    return importlib.import_module(f'{PACKAGE}.{name}')


sys.path.append(str(ROOT))
calls = _load('tests.api.calls')
capabilities = _load('services.schemas.capabilities')
config = _load('config')
groups = _load('services.schemas.groups')
relaxations = _load('common.relaxations')
topology = _load('services.schemas.topology')
