# SPDX-License-Identifier: Apache-2.0
"""The network of the real cloud: the try-out cloud's stub of neutron."""

import os

from cheroot import wsgi

from nova_groupext.cloud import network

application = wsgi.PathInfoDispatcher(
    {'/network': network.Networks(os.environ['VRT_CLOUD_URL'])}
)
