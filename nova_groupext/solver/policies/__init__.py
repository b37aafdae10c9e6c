# SPDX-License-Identifier: Apache-2.0
"""The meaning of each policy: violations and costs of a plan."""
