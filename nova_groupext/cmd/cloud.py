# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-cloud: try-out cloud that runs until it is interrupted.

Its dependencies are the extra ``cloud``, which no control plane needs.
"""

import importlib
import sys

COMMAND = 'nova_groupext.cloud.command'
ADVICE = (
    'nova-groupext-cloud: {name} is not installed; '
    "pip install 'nova-groupext[cloud]' installs it.\n"
)


def main(argv=None):
    """Run the command and return its exit status.

    :raises ModuleNotFoundError: if a module of this distribution is missing
    """
    try:
        command = importlib.import_module(COMMAND)
    except ModuleNotFoundError as exc:
        name = (exc.name or '').partition('.')[0]
        if name == __package__.partition('.')[0]:
            raise
        sys.stderr.write(ADVICE.format(name=name))
        return 1
    return command.main(argv)
