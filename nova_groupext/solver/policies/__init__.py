# SPDX-License-Identifier: Apache-2.0
"""Policy types: the meaning of each policy, and its view of a placement."""
