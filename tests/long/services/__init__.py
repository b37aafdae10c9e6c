# SPDX-License-Identifier: Apache-2.0
"""Long tests of real databases and Placement processes."""
