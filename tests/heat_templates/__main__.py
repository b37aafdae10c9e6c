# SPDX-License-Identifier: Apache-2.0
"""``python -m tests.heat_templates describing`` or ``stock FOLDER``.

Runs one of these modules in Heat's environment, which is made if it is
missing.
"""

import os
import subprocess
import sys

from tests import environments
from tests.heat import process


def main(module, *arguments):
    python = process.environment() / 'bin/python'
    # Heat's libraries warn of what they deprecate themselves.
    command = [python, '-W', 'ignore', '-m', f'tests.heat_templates.{module}']
    return subprocess.run(
        [*command, *arguments],
        env={**os.environ, 'PYTHONPATH': str(environments.TOP)},
        check=False,
    ).returncode


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
