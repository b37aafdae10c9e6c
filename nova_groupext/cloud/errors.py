# SPDX-License-Identifier: Apache-2.0
"""Exceptions of the try-out cloud."""


class CannotStart(RuntimeError):
    """Failed start of a cloud; its message is meant for the user."""
