"""The README's blocks of Python run, one after another, as one program."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

from tests.cluster import PATIENCE, WithCluster

README = pathlib.Path(__file__).parents[1] / "README.md"


class ReadmeTest(WithCluster):
    def test_blocks(self) -> None:
        blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 4)
        program = self.dev.folder / "readme.py"
        program.write_text("\n".join(blocks), encoding="utf-8")
        ran = subprocess.run([sys.executable, str(program)], env=self.dev.environ, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("one\ntwo\n", ran.stdout)
        self.assertIn("[b'0\\n', b'1\\n', b'2\\n']", ran.stdout)
