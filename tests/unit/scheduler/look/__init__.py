# SPDX-License-Identifier: Apache-2.0
"""Unit tests of ``nova_groupext/scheduler/move``."""
