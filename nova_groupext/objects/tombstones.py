# SPDX-License-Identifier: Apache-2.0
"""Tombstones: our tables keep the uuids of ended holds for a day.

A request to Placement that was sent long ago may fill a hold once more after
it has ended. By its tombstone it is known as one of ours. What no row and no
tombstone knows of may be another installation's, or ours from before a backup
was restored: that is for the operator to say.
"""

from nova_groupext.db import api as db
from nova_groupext.db import models


def bury(context, hold):
    """Remember a hold that ends now."""
    db.ensure(context, models.Tombstone, uuid=hold.uuid)


def has_ended(context, uuid):
    """Check whether a uuid was that of a hold which has ended."""
    own = models.Tombstone.uuid == uuid
    return db.find_one(context, models.Tombstone, own) is not None


def forget(context, before):
    """Forget the holds that have ended before a time.

    :param before: clock.now
    """
    db.delete(context, models.Tombstone, models.Tombstone.created_at < before)
