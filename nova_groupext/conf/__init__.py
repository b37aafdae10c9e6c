# SPDX-License-Identifier: Apache-2.0
"""Options of nova_groupext, registered in Nova's configuration on import.

``CONF`` is ``nova.conf.CONF``: one nova.conf configures Nova's services and
those of nova_groupext.
"""

import nova.conf
from oslo_messaging import opts as messaging_opts
from oslo_middleware import opts as middleware_opts

from nova_groupext.conf import database
from nova_groupext.conf import vrt

CONF = nova.conf.CONF

database.register_opts(CONF)
vrt.register_opts(CONF)

# oslo.middleware registers it only when nova-api loads its pipeline.
for _group, _options in middleware_opts.list_opts_sizelimit():
    CONF.register_opts(_options, _group)

# oslo.messaging registers it only when a process creates its first client.
for _group, _options in messaging_opts.list_opts():
    if _group is None:
        CONF.register_opts(
            [each for each in _options if each.name == 'rpc_response_timeout']
        )
