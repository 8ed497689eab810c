"""References that lead, or should lead, nowhere: what a model can be talked into writing."""

from __future__ import annotations

from dataclasses import dataclass

from tests.server.local_server import APP, SESSION, USER

FOLDER = "gs://pictures/public"
OWN = f"artifact://apps/{APP}/users/{USER}/sessions/{SESSION}/artifacts"


@dataclass(frozen=True)
class Refused:
    id: str
    uri: str
    status: int = 403


REFUSED = [
    Refused("another bucket", "gs://secrets/public/a.png"),
    Refused("another folder", "gs://pictures/private/a.png"),
    Refused("a folder that begins alike", "gs://pictures/publicity/a.png"),
    Refused("the folder itself", "gs://pictures/public"),
    Refused("the folder's own name", "gs://pictures/public/"),
    Refused("climbing", "gs://pictures/public/../private/a.png"),
    Refused("climbing, escaped", "gs://pictures/public/%2e%2e/private/a.png", 404),
    Refused("climbing out", "gs://pictures/../secrets/a.png"),
    Refused("an empty folder", "gs://pictures/public//a.png"),
    Refused("a port", "gs://pictures:80/public/a.png"),
    Refused("a user", "gs://x@pictures/public/a.png"),
    Refused("a host", "gs://169.254.169.254/public/a.png"),
    Refused("a bucket with dots at its end", "gs://pictures./public/a.png"),
    Refused("a bucket in capitals", "gs://PICTURES/public/a.png"),
    Refused("a scheme in capitals", "GS://pictures/public/a.png"),
    Refused("a line break", "gs://pictures/public/a\r\nHost: evil"),
    Refused("a backslash", "gs://pictures/public\\..\\a.png"),
    Refused("too long", "gs://pictures/public/" + "a" * 2000),
    Refused("metadata", "http://169.254.169.254/computeMetadata/v1/"),
    Refused("metadata as IPv6", "http://[::ffff:169.254.169.254]/latest/meta-data"),
    Refused("metadata with a dot", "http://metadata.google.internal./computeMetadata/v1/"),
    Refused("the web", "https://example.com/a.png"),
    Refused("a disk", "file:///etc/passwd"),
    Refused("nothing", ""),
    Refused("data", "data:text/html,<script>alert(1)</script>"),
    Refused("script", "javascript:alert(1)"),
    Refused("an artifact of another user", OWN.replace(USER, "bob") + "/a.txt/versions/0", 404),
    Refused("an artifact of another app", OWN.replace("apps/app", "apps/b") + "/a/versions/0", 404),
    Refused("an artifact of another chat", OWN.replace(SESSION, "x") + "/a/versions/0", 404),
    Refused("an artifact that is not there", OWN + "/none.txt/versions/0", 404),
    Refused("a version that is not there", OWN + "/notes.txt/versions/7", 404),
    Refused("a version past any", OWN + "/notes.txt/versions/" + "9" * 5000, 404),
    Refused("an artifact that climbs", OWN + "/../../x/versions/0", 404),
    Refused("no artifact", "artifact://a", 404),
    Refused("an address written as a number", "http://2852039166/latest/meta-data"),
    Refused("this machine", "http://127.0.0.1:1/"),
    Refused("a name that is bound anew", "http://rebind.example:80/a.png"),
    Refused("another protocol", "ftp://example.com/a.png"),
    Refused("a share", "\\\\evil.example\\share\\a.png"),
    Refused("no scheme", "//evil.example/a.png"),
    Refused("a bucket that is a URL", "gs://evil.example@pictures/public/a.png"),
    Refused("a query", "gs://pictures?x=/public/a.png"),
]
