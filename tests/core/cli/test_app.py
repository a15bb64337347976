from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prism_core import __version__
from tests.core.cli.samples import Prism

ROOT = Path(__file__).resolve().parents[3]
README = ROOT / "README.md"
COMMANDS = ("demo", "ingest", "ask", "why", "stats", "doctor", "rebuild", "eval", "eval qa", "eval traces")


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True)


def undated(text: str) -> str:
    return re.sub(r"\d+ [A-Z]\w+ \d{4}|\d{4}-\d\d-\d\d \d\d:\d\d", "DATE", text)


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_help_lists_the_commands(prism: Prism, arguments: tuple[str, ...]) -> None:
    result = prism(*arguments)
    assert result.exit_code == 0
    assert all(f"  {command} " in result.stdout for command in COMMANDS if " " not in command)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_option_is_explained(prism: Prism, command: str) -> None:
    result = prism(*command.split(), "--help")
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    options = {*re.findall(r"--[a-z-]+", result.stdout)} - {"--help"}
    assert result.exit_code == 0
    assert not [option for option in options if option not in page]
    assert f"\n## {command}\n" in page or command == "eval"


def test_version(prism: Prism) -> None:
    assert prism("--version").stdout == f"prism-memory {__version__}\n"


def test_help_loads_no_engine() -> None:
    code = (
        "import sys\n"
        "from prism_core.cli import app\n"
        "try:\n"
        "    app(['--help'], prog_name='prism')\n"
        "except SystemExit as end:\n"
        "    assert end.code == 0\n"
        "heavy = {'chromadb', 'onnxruntime', 'tokenizers', 'prism_core.evaluation', 'prism_core.demo'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    result = run(code)
    assert result.stdout.splitlines()[-1] == "[]"
    assert result.returncode == 0


def test_a_reader_that_has_seen_enough_ends_the_program_quietly(
    units: dict[int, list[str]], chat: Path, store: Path
) -> None:
    command = [sys.executable, "-c", "from prism_core.cli import app; app()", "ingest", str(chat)]
    program = subprocess.Popen(
        [*command, "--store", str(store), "--no-embedder"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    )
    assert program.stdout is not None
    program.stdout.close()
    assert program.stderr is not None
    assert program.stderr.read() == b""
    program.stderr.close()
    program.wait()


def test_letters_that_the_terminal_lacks_are_replaced(prism: Prism, tmp_path: Path, store: Path) -> None:
    chat = tmp_path / "chat.json"
    chat.write_text('[{"role": "user", "content": "我们去了山上 hill"}]', encoding="utf-8")
    prism("ingest", chat, "--store", store, "--no-embedder")
    code = "from prism_core.cli import app; app()"
    command = [sys.executable, "-c", code, "ask", "hill", "--k", "1", "--store", str(store), "--no-embedder"]
    environment = {"PYTHONIOENCODING": "latin-1", "PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert "?????? hill" in result.stdout
    assert result.stderr == ""


def test_the_readme_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```\w*\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    code, printed = blocks[1:3]
    names: dict[str, Any] = {}
    exec(code, names)
    names["memory"].close()
    assert undated(capsys.readouterr().out) == undated(printed)
    assert len(code.splitlines()) <= 10
