# SPDX-License-Identifier: Apache-2.0
"""Step 2, look: hosts, domains and free capacity, as a problem."""
