# SPDX-License-Identifier: Apache-2.0
"""Commands of API version 1."""
