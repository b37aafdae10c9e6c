# SPDX-License-Identifier: Apache-2.0
"""Step 2, look: hosts, domains and free room, as the planner reads them."""
