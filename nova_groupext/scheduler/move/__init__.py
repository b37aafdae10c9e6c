# SPDX-License-Identifier: Apache-2.0
"""Members that move, and where everybody is now."""
