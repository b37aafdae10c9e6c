# SPDX-License-Identifier: Apache-2.0
"""The shapes of what clients send, as JSON schemas."""
