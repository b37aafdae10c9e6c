# SPDX-License-Identifier: Apache-2.0
"""Comparison of the tables with Placement, and repair of differences."""
