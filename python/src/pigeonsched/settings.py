"""The settings of a client: those of the program pigeon, from the same places.

    defaults < client.yaml < environment PIGEON_* < arguments

The file is that of PIGEON_CONFIG, else pigeon/client.yaml in the user's configuration.
Without a frontend in any of them, the pigeon dev that this user runs is the cluster.
"""

from __future__ import annotations

import csv
import dataclasses
import ipaddress
import os
import pathlib
import stat
import sys
import warnings
from collections.abc import Mapping
from typing import Any, Optional, TypedDict, Union

import yaml

from pigeonsched import durations, rendezvous
from pigeonsched.errors import PigeonError, Problem

_LIST = {"frontend"}
_DURATION = {"timeout", "retry_for"}
_TEXT = {"token_file", "tls_ca", "tls_cert", "tls_key", "cluster", "owner"}
_SYSTEM_CA = "/etc/pigeon/ca.pem"
_MAX_FILE = 1 << 20
_MAX_TOKEN = 4096


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a cluster is found and called. Times are seconds."""

    frontend: tuple[str, ...] = ()  # host:port of the frontends
    timeout: float = 10.0  # of one answer
    retry_for: float = 60.0  # how long unanswered calls about a job are repeated; 0: not at all
    token_file: str = ""
    tls_ca: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    cluster: str = ""
    owner: str = ""


class ClientSettings(TypedDict, total=False):
    """The fields of Settings as arguments of a client, beside frontend; None takes the user's."""

    timeout: Optional[float]
    retry_for: Optional[float]
    token_file: Union[str, os.PathLike[str], None]
    tls_ca: Union[str, os.PathLike[str], None]
    tls_cert: Union[str, os.PathLike[str], None]
    tls_key: Union[str, os.PathLike[str], None]
    cluster: Optional[str]
    owner: Optional[str]


def load(environ: Optional[Mapping[str, str]] = None, **given: Any) -> Settings:
    """Returns the settings, those given here first. An argument that is None has no effect."""
    env = os.environ if environ is None else environ
    values, file = _read_file(env)
    for key in sorted(_LIST | _DURATION | _TEXT):
        text = env.get("PIGEON_" + key.upper(), "")
        if text:
            values[key] = _parse(key, text, f"environment variable PIGEON_{key.upper()}")
    unknown = set(given) - _LIST - _DURATION - _TEXT
    if unknown:
        raise TypeError(f"unknown settings: {', '.join(sorted(unknown))}")
    for key, value in given.items():
        if value is not None:
            values[key] = _given(key, value)
    s = Settings(**values)
    if not s.frontend:
        s = _of_dev(s, env, file)
    return _with_places(_checked(s), env)


def _given(key: str, value: Any) -> Any:
    if key in _LIST:
        return (value,) if isinstance(value, str) else tuple(value)
    if key in _DURATION:
        return float(value)
    return os.fspath(value)


def _read_file(env: Mapping[str, str]) -> tuple[dict[str, Any], str]:
    path = env.get("PIGEON_CONFIG", "")
    if not path:
        folder = user_folder(env)
        if folder is None or not (folder / "client.yaml").is_file():
            return {}, ""
        path = str(folder / "client.yaml")
    try:
        with open(path, "rb") as f:
            text = f.read(_MAX_FILE + 1)
        if len(text) > _MAX_FILE:
            raise ValueError(f"it has more than {_MAX_FILE} bytes, the limit")
        found = yaml.safe_load(text)
        if found is not None and not isinstance(found, dict):
            raise ValueError("it holds no keys with values")
        values = {}
        for key, value in (found or {}).items():
            if key not in _LIST | _DURATION | _TEXT:
                warnings.warn(f"{path}: the key {key!r} is not one of a Python client and has no effect here", stacklevel=4)
            elif value not in (None, "", []):
                values[key] = _parse(key, value, "key " + str(key))
        return values, path
    except (OSError, ValueError, yaml.YAMLError) as e:
        raise PigeonError(f"the settings cannot be read: {e}", subject=path, tried="reading the configuration of clients", advice="correct that, or name another file with PIGEON_CONFIG") from e


def _parse(key: str, value: Any, where: str) -> Any:
    try:
        if key in _LIST:
            items = _items(value) if isinstance(value, str) else value
            if not isinstance(items, list) or not all(isinstance(i, str) for i in items):
                raise ValueError("expected a list of strings, in a file [a, b] and elsewhere a,b")
            return tuple(i for i in items if i)
        if key in _DURATION:
            return durations.parse(str(value))
        if not isinstance(value, str):
            raise ValueError("expected text")
        return value
    except ValueError as e:
        raise PigeonError(f"{where}: {e}", tried="reading the settings of clients", advice="correct it") from e


def _items(text: str) -> list[str]:
    try:
        (items,) = csv.reader([text.strip()])
    except (csv.Error, ValueError) as e:
        raise ValueError(f"{text[:200]!r} is no list in one line, such as a:1,b:2 ({e})") from e
    return items


def _checked(s: Settings) -> Settings:
    for address in s.frontend:
        host, _, port = address.rpartition(":")
        if not host or any(c.isspace() for c in host) or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise _wrong("frontend", f"{address!r} is no host:port")
    if not s.timeout > 0:  # nor NaN
        raise _wrong("timeout", "use a duration above zero")
    if not s.retry_for >= 0:
        raise _wrong("retry_for", "use a duration above zero, or 0 to try once")
    if bool(s.tls_cert) != bool(s.tls_key):
        raise _wrong("tls_cert", "give tls_cert and tls_key, or neither")
    if s.tls_cert and not s.tls_ca:
        raise _wrong("tls_ca", "give the certificate of the cluster's authority: a certificate is shown by TLS only")
    return s


def _wrong(key: str, problem: str) -> PigeonError:
    return PigeonError(problem, subject="setting " + key, tried="checking the settings of clients", advice="correct it")


def _of_dev(s: Settings, env: Mapping[str, str], file: str) -> Settings:
    try:
        dev = rendezvous.find(env)
    except rendezvous.NoDevError as e:
        raise PigeonError(
            "no cluster found",
            tried=f"looking at the argument frontend (not given), PIGEON_FRONTEND (not set), the configuration ({file or 'no file'}) and for a pigeon dev: {e}",
            advice="start one with 'pigeon dev' where none runs, or name a frontend with PIGEON_FRONTEND=host:port",
            problem=Problem.NOT_FOUND,
        ) from e
    s = dataclasses.replace(s, frontend=dev.frontends)
    if not s.tls_ca and dev.tls_ca:
        s = dataclasses.replace(s, tls_ca=dev.tls_ca, token_file=s.token_file or dev.token_file)
    return s


def on_loopback(addresses: tuple[str, ...]) -> bool:
    """Reports whether all frontends are on this machine, where the kernel identifies the caller."""

    def is_here(address: str) -> bool:
        host = address.rpartition(":")[0].strip("[]")
        try:
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    return all(is_here(a) for a in addresses)


def user_folder(env: Mapping[str, str]) -> Optional[pathlib.Path]:
    """The folder pigeon in the user's configuration; None for a user without a home."""
    home = env.get("HOME", "")
    if sys.platform == "darwin":
        return pathlib.Path(home) / "Library" / "Application Support" / "pigeon" if home else None
    base = env.get("XDG_CONFIG_HOME", "")
    if os.path.isabs(base):
        return pathlib.Path(base) / "pigeon"
    return pathlib.Path(home) / ".config" / "pigeon" if home and not base else None


def _with_places(s: Settings, env: Mapping[str, str]) -> Settings:
    """Adds the files in the default places, for frontends on other machines; checks the token."""
    if not on_loopback(s.frontend):
        own = user_folder(env)
        if not s.tls_ca:
            s = dataclasses.replace(s, tls_ca=_first(own and own / "ca.pem", pathlib.Path(_SYSTEM_CA)))
        if s.tls_ca and not s.tls_cert and not s.token_file:
            s = dataclasses.replace(s, token_file=_first(own and own / "token"))
    if s.token_file:
        read_token(s.token_file)
        if not s.tls_ca and not on_loopback(s.frontend):
            raise PigeonError(
                "a token is not sent in clear to another machine, where others could read it",
                subject="token file " + s.token_file,
                tried="preparing calls to " + ", ".join(s.frontend),
                advice="name the certificate of the cluster's authority with tls_ca or PIGEON_TLS_CA",
            )
    return s


def _first(*paths: Optional[pathlib.Path]) -> str:
    for path in paths:
        if path is not None and path.is_file():
            return str(path)
    return ""


def check_key(path: str) -> None:
    """Refuses a key that other users may read; root may let a group read its own."""
    info = os.stat(path)
    mode = stat.S_IMODE(info.st_mode)
    if mode & (0o037 if info.st_uid == 0 else 0o077):
        raise PigeonError(f"others may read it (mode {mode:04o})", subject=path, tried="reading the key of this client", advice=f"chmod 600 {path}")


def read_token(path: str) -> str:
    """Reads the first line of a file that no other user can read."""
    try:
        with open(path, "rb") as f:
            mode = os.fstat(f.fileno()).st_mode
            text = f.read(_MAX_TOKEN + 1)
    except (OSError, ValueError) as e:
        raise PigeonError(str(e), subject=path, tried="reading the access token", advice="name the file that 'pigeon token create --out' wrote") from e
    if not stat.S_ISREG(mode) or mode & 0o077:
        raise PigeonError(f"others may read it (mode {stat.S_IMODE(mode):04o})", subject=path, tried="reading the access token", advice=f"chmod 600 {path}")
    if len(text) > _MAX_TOKEN:
        raise PigeonError(f"it has more than {_MAX_TOKEN} bytes, the limit", subject=path, tried="reading the access token", advice="write into it what 'pigeon token create' prints, or use its --out")
    lines = text.decode("utf-8", "replace").splitlines()
    token = lines[0].strip() if lines else ""
    if not token or not token.isascii() or any(c.isspace() for c in token):
        raise PigeonError("its first line is no access token", subject=path, tried="reading the access token", advice="write into it what 'pigeon token create' prints, or use its --out")
    return token
