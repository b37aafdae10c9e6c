# SPDX-License-Identifier: Apache-2.0
"""What keeps a try-out cloud from running."""


class CannotStart(RuntimeError):
    """Why a cloud cannot start, in words for whoever starts it."""
