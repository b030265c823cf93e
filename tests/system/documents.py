# SPDX-License-Identifier: Apache-2.0
"""documents.py - the policy and the credentials that most tests share, as an operator would write them.

The sandboxes whose id begins with `swap-` hold the placeholders; their policies must open the bound hosts.
"""
import os

from stack import daemon_group

# real values: long, and unlike anything that can be in a process by chance
API_SECRET = "real-api-3f9c1d7be2a84650-value"
GIT_SECRET = "g\u00eet:s\u00e9cret/with+colon-77d0a1"  # not ASCII, a colon, characters of base64
BANK_SECRET = "real-bank-55e0c41fa0b7-value"
SECRETS = (API_SECRET, GIT_SECRET, BANK_SECRET)

POLICY = """\
version: 1
name: tests
default: deny
rules:
  - name: never
    hosts: [denied.test, evil.test]
    action: deny
  - name: reads
    hosts: [readonly.test]
    methods: [GET, HEAD]
    action: allow
  - name: github
    hosts: ["*.github.test"]
    action: allow
  - name: tests
    hosts:
      - api.test
      - v4only.test
      - v6only.test
      - git.test
      - bank.test
      - other.test
      - file.test
      - site.test
      - ok.test
      - wrong.test
      - expired.test
      - selfsigned.test
      - closed.test
      - silent.test
      - nx.test
      - private.test
      - private6.test
      - mixed.test
      - mapped.test
      - loopback.test
      - metadata.test
      - h2.test
      - both.test
      - first1.test
      - noalpn.test
    ports: [80, 443, 8080, 8081, 8443]   # nothing listens on 8081
    action: allow
  - name: literals
    hosts: [203.0.113.40, 203.0.113.41, "2001:db8::40", 203.0.113.10, "2001:db8::10"]
    action: allow
"""

CREDENTIALS = """\
credentials:
  - name: API_TOKEN
    source: {{value: "{api}"}}
    env: API_TOKEN
    swap:
      - {{hosts: [api.test, v6only.test], in: [bearer, basic-password]}}
  - name: GIT_TOKEN
    source: {{file: {git}}}
    env: GIT_TOKEN
    swap:
      - {{hosts: [git.test], in: [basic-password]}}
  - name: BANK_TOKEN
    source: {{file: {bank}}}
    env: BANK_TOKEN
    swap:
      - {{hosts: [bank.test], in: [bearer]}}
"""


def readable_by_daemon(path, mode=0o640):
    """Root's, and its group may read: what the loader asks of every file with a secret."""
    os.chown(path, 0, daemon_group())
    os.chmod(path, mode)
    return path


def write_secret(world, name, value):
    return readable_by_daemon(world.write(name, value, 0o600))


def write_credentials(world, name="credentials"):
    """The document, its file sources beside it; returns its path."""
    git = write_secret(world, f"{name}.git.secret", GIT_SECRET)
    bank = write_secret(world, f"{name}.bank.secret", BANK_SECRET)
    text = CREDENTIALS.format(api=API_SECRET, git=git, bank=bank)
    return readable_by_daemon(world.write(f"{name}.yaml", text, 0o600))
