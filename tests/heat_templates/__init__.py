# SPDX-License-Identifier: Apache-2.0
"""Templates of Heat, read in its environment without a cloud."""
