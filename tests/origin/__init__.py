# SPDX-License-Identifier: Apache-2.0
"""The internet of the tests: servers, a name server, a sniffer, and the namespaces that they live in."""
