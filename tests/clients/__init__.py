# SPDX-License-Identifier: Apache-2.0
"""Do the clients do what their users mean, against a real cloud?"""
