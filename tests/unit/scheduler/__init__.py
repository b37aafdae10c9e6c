# SPDX-License-Identifier: Apache-2.0
"""The parts around Placement, each by itself."""
