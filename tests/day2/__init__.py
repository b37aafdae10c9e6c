# SPDX-License-Identifier: Apache-2.0
"""What clients do with the servers of a group after the first day."""
