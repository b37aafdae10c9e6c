# SPDX-License-Identifier: Apache-2.0
"""Does the HTTP API answer as it says, whoever asks and whatever is sent?"""
