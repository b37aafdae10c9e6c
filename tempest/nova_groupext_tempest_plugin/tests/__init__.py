# SPDX-License-Identifier: Apache-2.0
"""Tests of VRT groups through the compute and Placement APIs."""
