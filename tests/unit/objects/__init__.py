# SPDX-License-Identifier: Apache-2.0
"""Unit tests of the objects: stored values and allowed changes."""
