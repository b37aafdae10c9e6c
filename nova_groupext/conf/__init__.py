# SPDX-License-Identifier: Apache-2.0
"""Options of nova_groupext, registered in Nova's configuration on import.

``CONF`` is ``nova.conf.CONF``: one nova.conf configures Nova's services and
those of nova_groupext.
"""

import nova.conf
from oslo_messaging import opts as messaging_opts

from nova_groupext.conf import database
from nova_groupext.conf import vrt

CONF = nova.conf.CONF

database.register_opts(CONF)
vrt.register_opts(CONF)

# oslo.messaging registers it only when a process creates its first client.
for _group, _options in messaging_opts.list_opts():
    if _group is None:
        CONF.register_opts(
            [each for each in _options if each.name == 'rpc_response_timeout']
        )
