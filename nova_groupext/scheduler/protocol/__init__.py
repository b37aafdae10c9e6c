# SPDX-License-Identifier: Apache-2.0
"""Who owns a member's capacity: each file is one way in which that changes.

Our tables change by counted updates; in Placement one thing is relied on: a
consumer is filled from nothing once. See doc/source/contributor/protocol.rst.
"""
