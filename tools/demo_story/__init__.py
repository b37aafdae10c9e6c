# SPDX-License-Identifier: Apache-2.0
"""What the demo is made of: its people, its numbers and its pictures."""
