# SPDX-License-Identifier: Apache-2.0
"""Tempest tests of VRT groups, for any cloud that has them enabled."""
