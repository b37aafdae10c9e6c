# SPDX-License-Identifier: Apache-2.0
"""Our options, registered beside Nova's in Nova's own configuration.

Importing this package registers them: ``CONF`` here is ``nova.conf.CONF``,
so an operator writes one nova.conf for Nova's services and ours.
"""

import nova.conf
from oslo_messaging import opts as messaging_opts

from nova_groupext.conf import database
from nova_groupext.conf import vrt

CONF = nova.conf.CONF

database.register_opts(CONF)
vrt.register_opts(CONF)

# oslo.messaging does that no sooner than a process makes its first client.
for _group, _options in messaging_opts.list_opts():
    if _group is None:
        CONF.register_opts(
            [each for each in _options if each.name == 'rpc_response_timeout']
        )
