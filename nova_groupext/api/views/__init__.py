# SPDX-License-Identifier: Apache-2.0
"""What clients are shown."""
