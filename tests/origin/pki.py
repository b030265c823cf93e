# SPDX-License-Identifier: Apache-2.0
"""pki.py - the certificate authority of the tests' internet, made by the openssl command for one run.

Every leaf shares one key. What is wrong with a certificate is its name here: `wrong` bears another name,
`expired` has ended, `selfsigned` is nobody's, `ip` bears addresses, `noip` is for a name only.
"""
import os
import ssl
import subprocess

from . import zone

_BAD = ("wrong.test", "expired.test", "selfsigned.test")
# one by one: verifiers refuse a wildcard directly under a top-level domain
NAMES = ",".join(f"DNS:{name}" for name in (*zone.ZONE, "*.github.test") if name not in _BAD)
LEAVES = {
    # name: (subject alternative names, days, by whom)
    "good": (NAMES, 7, "ca"),
    "wrong": ("DNS:other.test", 7, "ca"),
    "expired": ("DNS:expired.test", -1, "ca"),
    "selfsigned": ("DNS:selfsigned.test", 7, "self"),
    "ip": ("IP:203.0.113.40,IP:2001:db8::40", 7, "ca"),
    "noip": ("DNS:noip.test", 7, "ca"),
}


class Pki:
    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        self.ca = os.path.join(folder, "ca.pem")
        self._key = os.path.join(folder, "leaf.key")
        self._authority()
        self._contexts = {}
        for name, row in LEAVES.items():
            self._leaf(name, *row)

    def context(self, name, protocols):
        """A server's that bears the leaf of that name and chooses among the protocols; none: answers no ALPN."""
        if (name, protocols) not in self._contexts:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.options &= ~(1 << 7)  # IGNORE_UNEXPECTED_EOF: an end without a close_notify is told apart
            context.load_cert_chain(os.path.join(self.folder, f"{name}.pem"), self._key)
            if protocols:
                context.set_alpn_protocols(list(protocols))
            self._contexts[name, protocols] = context
        return self._contexts[name, protocols]

    def _openssl(self, *arguments, stdin=None):
        return subprocess.run(
            ["openssl", *arguments], check=True, capture_output=True, input=stdin, cwd=self.folder
        ).stdout

    def _authority(self):
        self._openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "30", "-subj", "/CN=Origins of the tests", "-keyout", "ca.key", "-out", "ca.pem",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign",
        )
        self._openssl(
            "genpkey", "-algorithm", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-out", "leaf.key",
        )

    def _leaf(self, name, alternative, days, by):
        request = self._openssl("req", "-new", "-key", "leaf.key", "-subj", f"/CN={name} leaf")
        extensions = os.path.join(self.folder, f"{name}.ext")
        with open(extensions, "w", encoding="ascii") as file:
            file.write(
                f"subjectAltName={alternative}\nbasicConstraints=critical,CA:FALSE\n"
                "keyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth\n"
            )
        signer = ["-CA", "ca.pem", "-CAkey", "ca.key"] if by == "ca" else ["-signkey", "leaf.key"]
        chain = os.path.join(self.folder, f"{name}.pem")
        leaf = self._openssl(
            "x509", "-req", *signer, "-days", str(days), "-extfile", extensions, stdin=request
        )
        with open(chain, "wb") as file:
            file.write(leaf)
