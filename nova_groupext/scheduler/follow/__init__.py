# SPDX-License-Identifier: Apache-2.0
"""Step 6, follow: what became of servers, holds and hosts meanwhile."""
