# SPDX-License-Identifier: Apache-2.0
"""Step 6, follow: rows follow what Nova did to servers and hosts."""
