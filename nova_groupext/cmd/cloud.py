# SPDX-License-Identifier: Apache-2.0
"""nova-groupext-cloud: run the try-out cloud until it is told to stop.

Its dependencies are an extra of the distribution: a control plane has none.
"""

import importlib
import sys

COMMAND = 'nova_groupext.cloud.command'
ADVICE = (
    'nova-groupext-cloud: {name} is not installed; '
    "pip install 'nova-groupext[cloud]' installs it.\n"
)


def main(argv=None):
    """Run the command; returns its exit status.

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
