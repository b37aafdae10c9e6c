# SPDX-License-Identifier: Apache-2.0
"""Long tests on a try-out cloud."""
