# SPDX-License-Identifier: Apache-2.0
"""Our options, registered beside Nova's in Nova's own configuration.

Importing this package registers them: ``CONF`` here is ``nova.conf.CONF``,
so an operator writes one nova.conf for Nova's services and ours.
"""

import nova.conf

from nova_groupext.conf import database
from nova_groupext.conf import vrt

CONF = nova.conf.CONF

database.register_opts(CONF)
vrt.register_opts(CONF)
