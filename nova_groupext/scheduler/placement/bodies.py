# SPDX-License-Identifier: Apache-2.0
"""Bodies of requests that fill and empty consumers in Placement."""

from nova_groupext.conf import CONF

HOLD_TYPE = 'VRT_MEMBER'
PLACEHOLDER_TYPE = 'VRT_EXCLUSIVE'
OUR_TYPES = (HOLD_TYPE, PLACEHOLDER_TYPE)
SERVER_TYPE = 'INSTANCE'

# Generation of a consumer that was filled once.
FIRST_GENERATION = 1


def filled(hold):
    """Return the body of a new consumer with the hold's allocations."""
    return {
        'allocations': hold.allocations,
        'mappings': hold.mappings,
        'project_id': CONF.vrt.hold_project_id,
        'user_id': CONF.vrt.hold_user_id,
        'consumer_generation': None,
        'consumer_type': PLACEHOLDER_TYPE
        if hold.is_placeholder
        else HOLD_TYPE,
    }


def for_server(hold, project_id, user_id):
    """Return the body of a server's consumer that redeems a hold."""
    return {
        **filled(hold),
        'project_id': project_id,
        'user_id': user_id,
        'consumer_type': SERVER_TYPE,
    }


def emptied(uuid, generation):
    """Return {consumer: body that removes all its allocations}.

    Placement then removes the consumer, whatever type it had.
    """
    return {
        uuid: {
            'allocations': {},
            'project_id': CONF.vrt.hold_project_id,
            'user_id': CONF.vrt.hold_user_id,
            'consumer_generation': generation,
            'consumer_type': HOLD_TYPE,
        }
    }
