# SPDX-License-Identifier: Apache-2.0
"""Tests of VRT groups through the APIs of compute, and of Placement."""
