# SPDX-License-Identifier: Apache-2.0
"""The entry point of oslo-config-generator: every option we add."""

from nova_groupext.conf import database
from nova_groupext.conf import vrt


def list_opts():
    """Return [(group, options)] as oslo.config's generator wants it."""
    return [*database.list_opts().items(), *vrt.list_opts().items()]
