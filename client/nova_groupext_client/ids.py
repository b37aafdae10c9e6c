# SPDX-License-Identifier: Apache-2.0
"""Distinction of ids from names in user input."""

import uuid


def is_id(text: str) -> bool:
    """Check whether a text has the form of a UUID."""
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
