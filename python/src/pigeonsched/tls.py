"""How frontends are verified: by the cluster's authority and the role in their certificate, not by a host's name."""

from __future__ import annotations

import logging
import ssl
import urllib.parse
from typing import Any, Optional

from pigeonsched.errors import PigeonError, Problem
from pigeonsched.settings import Settings, check_key

_LOG = logging.getLogger("pigeonsched")

_AUTHORITY = "Pigeon authority of "
_DEFAULT_CLUSTER = "pigeon"


class Verifier:
    """The TLS settings of calls to the frontends of a cluster."""

    def __init__(self, s: Settings) -> None:
        self._settings = s
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # check() verifies the role and the cluster instead
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(s.tls_ca)
            if s.tls_cert:
                check_key(s.tls_key)
                context.load_cert_chain(s.tls_cert, s.tls_key)
        except (OSError, ssl.SSLError) as e:
            raise PigeonError(str(e), subject=s.tls_ca, tried="reading the certificates of this client", advice="check tls_ca, tls_cert and tls_key") from e
        self.context = context
        self.cluster = s.cluster or _cluster_of(context) or _DEFAULT_CLUSTER

    def again(self) -> Verifier:
        """Returns one by the files as they are now, since they are renewed while a client lives; itself when they cannot be used."""
        try:
            return Verifier(self._settings)
        except PigeonError as e:
            _LOG.warning("%s; what was read before counts", e)
            return self

    def check(self, certificate: Optional[dict[str, Any]], address: str) -> None:
        """Refuses a certificate that names no frontend of this cluster."""
        try:
            cluster, role, _ = _named(certificate or {})
            if cluster != self.cluster:
                raise ValueError(f"it is of the cluster {cluster!r}, and this is {self.cluster!r}")
            if role != "frontend":
                raise ValueError(f"it is a {role}, and a frontend was called")
        except ValueError as e:
            raise PigeonError(
                f"the certificate of the other side is refused: {e}",
                subject="frontend " + address,
                tried="connecting by TLS",
                advice="check that tls_ca (PIGEON_TLS_CA) is the authority of this cluster, and that the address is that of a frontend",
                problem=Problem.DENIED,
            ) from e


def _subject(certificate: dict[str, Any]) -> dict[str, list[str]]:
    parts: dict[str, list[str]] = {}
    for level in certificate.get("subject", ()):
        for key, value in level:
            parts.setdefault(key, []).append(value)
    return parts


def _cluster_of(context: ssl.SSLContext) -> str:
    """The cluster of the first certificate, if 'pigeon pki init' made it."""
    for certificate in context.get_ca_certs():
        subject = _subject(dict(certificate))
        of = subject.get("organizationName", [])
        if len(of) == 1 and subject.get("commonName") == [_AUTHORITY + of[0]]:
            return of[0]
        break
    return ""


def _named(certificate: dict[str, Any]) -> tuple[str, str, str]:
    """Returns the names in a certificate: of its URI pigeon://CLUSTER/ROLE/NAME or its subject."""
    own = [v for kind, v in certificate.get("subjectAltName", ()) if kind == "URI" and v.startswith("pigeon://")]
    if not own:
        subject = _subject(certificate)
        parts = [subject.get(k, []) for k in ("organizationName", "organizationalUnitName", "commonName")]
        if any(len(p) != 1 for p in parts):
            raise ValueError("it has neither a URI pigeon://CLUSTER/ROLE/NAME nor a subject O=CLUSTER, OU=ROLE, CN=NAME")
        return parts[0][0], parts[1][0], parts[2][0]
    if len(own) > 1:
        raise ValueError(f"it has {len(own)} URIs that begin with pigeon://, and may have one")
    uri = urllib.parse.urlsplit(own[0])
    path = uri.path.split("/")
    if uri.query or uri.fragment or len(path) != 3 or "@" in uri.netloc or ":" in uri.netloc:
        raise ValueError(f"its URI {own[0]!r} is not pigeon://CLUSTER/ROLE/NAME")
    return uri.netloc, path[1], urllib.parse.unquote(path[2])
