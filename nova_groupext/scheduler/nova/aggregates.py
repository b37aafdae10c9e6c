# SPDX-License-Identifier: Apache-2.0
"""All aggregates of the cloud, by three queries without joins.

Nova's own query returns a row for each pair of a host and a metadata item, and
makes an object of each host.
"""

import collections

from nova import objects
from nova.db.api import api as nova_api_db
from nova.db.api import models as nova_api_models
import sqlalchemy as sa


@nova_api_db.context_manager.reader
def read_all(context):
    """Return all Aggregates, as objects.AggregateList.get_all() does."""
    aggregate, host, metadata = (
        nova_api_models.Aggregate,
        nova_api_models.AggregateHost,
        nova_api_models.AggregateMetadata,
    )
    execute = context.session.execute
    hosts_of = collections.defaultdict(list)
    for aggregate_id, name in execute(
        sa.select(host.aggregate_id, host.host).order_by(host.id)
    ):
        hosts_of[aggregate_id].append(name)
    metadata_of = collections.defaultdict(dict)
    for aggregate_id, key, value in execute(
        sa.select(metadata.aggregate_id, metadata.key, metadata.value)
    ):
        metadata_of[aggregate_id][key] = value
    return [
        _make(context, row, hosts_of[row.id], metadata_of[row.id])
        for row in execute(
            sa.select(
                *(aggregate.id, aggregate.uuid, aggregate.name),
                *(aggregate.created_at, aggregate.updated_at),
            )
        )
    ]


def _make(context, row, hosts, metadata):
    aggregate = objects.Aggregate(
        context,
        **row._mapping,
        hosts=hosts,
        metadata=metadata,
        deleted_at=None,
        deleted=False,
    )
    aggregate.obj_reset_changes()
    return aggregate
