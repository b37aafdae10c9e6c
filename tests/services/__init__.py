# SPDX-License-Identifier: Apache-2.0
"""Tests on real databases and Placement processes."""
