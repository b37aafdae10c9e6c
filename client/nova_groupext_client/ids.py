# SPDX-License-Identifier: Apache-2.0
"""Is what a user has written a name or an id?"""

import uuid


def is_id(text):
    """Tell whether a text has the form of an id."""
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
