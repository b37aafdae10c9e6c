# SPDX-License-Identifier: Apache-2.0
"""The parts of Nova that the steps use: hosts, servers, requests, hints."""
