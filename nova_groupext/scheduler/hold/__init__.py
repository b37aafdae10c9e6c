# SPDX-License-Identifier: Apache-2.0
"""Step 4, hold: who owns a member's capacity, and how that changes."""
