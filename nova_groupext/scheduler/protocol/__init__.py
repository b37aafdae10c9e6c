# SPDX-License-Identifier: Apache-2.0
"""The hold protocol: every way in which capacity changes its owner.

Our tables change by counted UPDATEs only. Of Placement, the protocol relies
on one guarantee: only one request can create a consumer's allocations. See
doc/source/contributor/protocol.rst.
"""
