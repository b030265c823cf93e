# SPDX-License-Identifier: Apache-2.0
"""reply.py - an answer as a client of either version got it."""
import json


class Reply:
    def __init__(self, status, fields, body, trailers=None, interim=()):
        self.status = status
        self.fields = fields  # http.client's message, or h2client's Fields
        self.body = body
        self.trailers = trailers  # of HTTP/2; None: none came
        self.interim = interim  # [(status, fields)] of HTTP/2

    @property
    def refusal(self):
        """Category by the header, None where the reply is the upstream's."""
        return self.fields.get("sallyport-refusal")

    @property
    def error(self):
        return json.loads(self.body)["error"]

    def __repr__(self):
        return f"<{self.status} {self.refusal or ''} {self.body[:300]!r}>"
