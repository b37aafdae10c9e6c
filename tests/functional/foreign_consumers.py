# SPDX-License-Identifier: Apache-2.0
"""Allocations of the try-out cloud's hosts that Nova does not know."""

import uuid

CONSUMER_TYPE = 'TRYOUT_FILLER'


def fill(cloud, host, **resources):
    """Allocate resources of a host to a new foreign consumer.

    :param cloud: cloud.Cloud
    :param resources: units by resource class, such as ``VCPU=4``
    :returns: uuid of the consumer
    :raises keystoneauth1.exceptions.http.Conflict: if they do not fit
    """
    consumer = str(uuid.uuid4())
    cloud.placement.put(
        f'/allocations/{consumer}',
        json={
            'allocations': {cloud.provider(host): {'resources': resources}},
            'project_id': 'tryout',
            'user_id': 'tryout',
            'consumer_generation': None,
            'consumer_type': CONSUMER_TYPE,
        },
    )
    return consumer
