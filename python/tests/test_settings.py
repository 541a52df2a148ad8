"""Where the settings come from."""

from __future__ import annotations

import functools
import math
import os
import pathlib
import tempfile
import unittest

from pigeonsched import PigeonError, durations
from pigeonsched.session import new_key
from pigeonsched.settings import load
from tests.cluster import Dev, raised


class SettingsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.own = self.home / ".config" / "pigeon"
        self.own.mkdir(parents=True)
        self.env = {"HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.home / "run")}

    def file(self, text: str, name: str = "client.yaml", mode: int = 0o600) -> str:
        path = self.own / name
        path.write_text(text)
        path.chmod(mode)
        return str(path)

    def test_order(self) -> None:
        self.file("frontend: [a:1, 'b:2']\ntimeout: 2s\nretry_for: 1m30s\nowner: team/a\n")
        s = load({**self.env, "PIGEON_TIMEOUT": "500ms", "PIGEON_OWNER": ""}, owner="team/b")
        self.assertEqual((s.frontend, s.timeout, s.retry_for, s.owner), (("a:1", "b:2"), 0.5, 90.0, "team/b"))
        s = load({**self.env, "PIGEON_FRONTEND": "c:3,d:4"})
        self.assertEqual((s.frontend, s.timeout), (("c:3", "d:4"), 2.0))
        self.assertEqual(load({**self.env, "PIGEON_FRONTEND": "c:3"}, frontend="e:5").frontend, ("e:5",))

    def test_another_file(self) -> None:
        self.file("frontend: [a:1]")
        other = self.file("frontend: [b:2]", "other.yaml")
        self.assertEqual(load({**self.env, "PIGEON_CONFIG": other}).frontend, ("b:2",))
        e = raised(PigeonError, lambda: load({**self.env, "PIGEON_CONFIG": "/no/such.yaml"}))
        self.assertIn("/no/such.yaml", str(e))

    def test_mistakes(self) -> None:
        for text in ("timeout: 5", "frontend: [a]", "frontend: [1]", "[]x: {", "- a", "tls_cert: x", "timeout: 0s\nfrontend: [a:1]"):
            self.file(text)
            e = raised(PigeonError, lambda: load(self.env))
            self.assertTrue(e.what and e.tried and e.advice, e)
        self.file("frontend: [a:1]\nfrontends: b")
        with self.assertWarns(UserWarning):
            load(self.env)
        self.file("frontend: [a:1]")
        raised(TypeError, lambda: load(self.env, fronted="a:1"))
        for wrong in ({"timeout": math.nan}, {"retry_for": math.nan}):
            self.assertIn("use a duration above zero", str(raised(PigeonError, functools.partial(load, self.env, **wrong))))

    def test_lists_in_the_environment(self) -> None:
        for text, want in (("a:1\n", ("a:1",)), (" a:1,b:2 ", ("a:1", "b:2")), ('"a:1"', ("a:1",))):
            self.assertEqual(load({**self.env, "PIGEON_FRONTEND": text}).frontend, want)
        for text in ("a:1\nb:2", "a:1\r\nb:2", '"a\n:1"', "a:1," + "b" * 200_000, "a b:1"):
            e = raised(PigeonError, functools.partial(load, {**self.env, "PIGEON_FRONTEND": text}))
            self.assertTrue(e.what and e.tried and e.advice, e)
            self.assertLess(len(str(e)), 1000)
        e = raised(PigeonError, lambda: load({**self.env, "PIGEON_FRONTEND": "a:1\nb:2"}))
        self.assertIn("PIGEON_FRONTEND: 'a:1\\nb:2' is no list in one line, such as a:1,b:2", str(e))

    def test_no_cluster(self) -> None:
        e = raised(PigeonError, lambda: load(self.env))
        self.assertIn("no cluster found", str(e))
        self.assertIn("PIGEON_FRONTEND", str(e))
        folder = self.home / "run" / "pigeon"
        folder.mkdir(parents=True, mode=0o700)
        (folder / "dev.json").write_text('{"frontends": ["127.0.0.1:1"]}')
        self.assertIn("was left behind", str(raised(PigeonError, lambda: load(self.env))))
        folder.chmod(0o755)
        self.assertIn("not trusted", str(raised(PigeonError, lambda: load(self.env))))

    def test_dev(self) -> None:
        dev = Dev("--nodes", "3", "--groups", "1")
        self.addCleanup(dev.stop)
        self.assertEqual(load(dev.environ).frontend, tuple(dev.frontends))

    def test_default_places_are_for_other_machines(self) -> None:
        ca, token = self.file("x", "ca.pem"), self.file("pigeon_abc\nrest\n", "token")
        s = load(self.env, frontend="10.0.0.1:1")
        self.assertEqual((s.tls_ca, s.token_file), (ca, token))
        s = load(self.env, frontend=["127.0.0.1:1", "[::1]:2", "localhost:3"])
        self.assertEqual((s.tls_ca, s.token_file), ("", ""))

    @unittest.skipIf(os.path.exists("/etc/pigeon/ca.pem"), "this machine has an authority")
    def test_a_token_does_not_travel_in_clear(self) -> None:
        token = self.file("pigeon_abc\n", "mine")
        self.assertIn("in clear", str(raised(PigeonError, lambda: load(self.env, frontend="10.0.0.1:1", token_file=token))))

    def test_a_token_is_private(self) -> None:
        for text, mode in (("pigeon_abc\n", 0o644), ("", 0o600), ("two words\n", 0o600), ("x" * 5000, 0o600)):
            token = self.file(text, "mine", mode)
            raised(PigeonError, lambda: load(self.env, frontend="127.0.0.1:1", token_file=token))


class DurationsTest(unittest.TestCase):
    def test_all_units(self) -> None:
        for text, want in {"0": 0, "1s": 1, "1.5s": 1.5, "1h30m": 5400, "500us": 5e-4, "5µs": 5e-6, "3ns": 3e-9, ".5ms": 5e-4}.items():
            self.assertAlmostEqual(durations.parse(text), want, places=12)
        for text in ("", "1", "s", "1 s", "1s2", "-1s", "1d"):
            raised(ValueError, lambda: durations.parse(text))


class KeyTest(unittest.TestCase):
    def test_keys(self) -> None:
        keys = [new_key() for _ in range(100)]
        self.assertEqual(len(set(keys)), 100)
        self.assertEqual({len(k) for k in keys}, {26})
