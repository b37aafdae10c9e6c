# SPDX-License-Identifier: Apache-2.0
"""Installation of a package with policy types, for one test."""

import importlib
import os
import pathlib
import shutil
import sys

import fixtures

from nova_groupext.solver.language import schemas
from nova_groupext.solver.policies import registry
from nova_groupext.solver.solve import forked_process

MODULE = 'toy_policies'
ENTRY_POINTS = f"""\
[{registry.GROUP}]
leader = {MODULE}:Leader
batches = {MODULE}:Batches
"""
METADATA = """\
Metadata-Version: 2.1
Name: toy-policies
Version: 1.0
"""


class ToyPolicies(fixtures.Fixture):
    """A folder on the path with the package, for child processes, too."""

    def _setUp(self):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        source = pathlib.Path(__file__).with_name(f'{MODULE}.py')
        shutil.copy(source, folder)
        information = folder / 'toy_policies-1.0.dist-info'
        information.mkdir()
        (information / 'METADATA').write_text(METADATA)
        (information / 'entry_points.txt').write_text(ENTRY_POINTS)
        paths = [str(folder), *filter(None, [os.environ.get('PYTHONPATH')])]
        self.useFixture(
            fixtures.EnvironmentVariable('PYTHONPATH', os.pathsep.join(paths))
        )
        sys.path.insert(0, str(folder))
        self.addCleanup(forget)
        self.addCleanup(sys.modules.pop, MODULE, None)
        self.addCleanup(sys.path.remove, str(folder))
        forget()


def forget():
    """Empty the caches of what is installed."""
    forked_process.stop_server()
    importlib.invalidate_caches()
    for function in (
        registry.types,
        schemas.group_policies,
        schemas.relationship_policies,
        schemas.soft_policies,
        schemas.any_policy,
    ):
        function.cache_clear()
