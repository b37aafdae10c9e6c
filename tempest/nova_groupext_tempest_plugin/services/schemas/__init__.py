# SPDX-License-Identifier: Apache-2.0
"""JSON schemas of all responses; an unlisted field is an error.

These modules import only each other, so that the unit tests of the API can
compare the schemas with the API's views without Tempest.
"""
