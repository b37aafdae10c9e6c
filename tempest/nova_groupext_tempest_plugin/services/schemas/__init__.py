# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of all answers; a field that is not listed is an error.

Nothing is imported here but other schemas, so that a test of the API can
compare them with the API's own views without Tempest.
"""
