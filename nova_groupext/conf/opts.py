# SPDX-License-Identifier: Apache-2.0
"""Entry point of oslo-config-generator: options of nova_groupext."""

from nova_groupext.conf import database
from nova_groupext.conf import vrt


def list_opts():
    """Return [(group, options)] for the generator of oslo.config."""
    return [*database.list_opts().items(), *vrt.list_opts().items()]
