"""The shape of the house: who imports whom, how long things may get, what every public name carries."""

from __future__ import annotations

import ast
import inspect
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import prism_core

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("prism_core", "prism_langchain", "prism_llamaindex")
HOSTS = ("prism_langchain", "prism_llamaindex")
HEAVY = ("langchain", "langchain_core", "llama_index", "chromadb", "onnxruntime")
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
# Assembled here so that this file passes its own check.
MACHINE_PATHS = re.compile("|".join(rf"(?<![\w.])/{root}/" for root in ("work", "root", "home")))
CACHES = re.compile(r"(^|/)(\.[^/]*(venv|cache|git|hypothesis|prism)|__pycache__|build|dist|[^/]*\.egg-info)(/|$)")


def sources(*packages: str) -> list[Path]:
    return sorted(path for package in packages for path in (ROOT / package).rglob("*.py"))


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def project_files() -> list[Path]:
    """The files under version control, or all that could be when this is no checkout."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(
            ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        paths = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
        return [path for path in paths if path.is_file()]
    return [path for path in ROOT.rglob("*") if path.is_file() and not CACHES.search(relative(path))]


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def modules_after(statement: str) -> set[str]:
    """Top-level names in `sys.modules` of a fresh interpreter after a statement."""
    code = f"{statement}\nimport sys\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def documented(value: object) -> bool:
    """Whether a class or function has a docstring of its own; dataclasses make one up, `Name(field: type)`."""
    if not inspect.isclass(value) and not inspect.isroutine(value):
        return True
    text = value.__doc__ or ""
    return bool(text) and not text.startswith(f"{value.__name__}(")


def core_imports(path: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of every import from the core."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "prism_core":
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.partition(".")[0] == "prism_core")


def test_imports_go_down_the_ladder() -> None:
    lint_imports = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run([lint_imports, "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_ladder_in_the_contributors_guide_is_the_enforced_one() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    ladder = "\n".join(settings["tool"]["importlinter"]["contracts"][0]["layers"])
    assert f"```\n{ladder}\n```" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_architecture_page_names_files_that_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"[\w/]+\.py\b", page))
    existing = [f"/{relative(path)}" for path in sources(*PACKAGES)]
    assert named
    assert not [name for name in named if not any(path.endswith(f"/{name}") for path in existing)]


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_package_loads_neither_hosts_nor_engines(package: str) -> None:
    assert modules_after(f"import {package}").isdisjoint(HEAVY)


@pytest.mark.parametrize("host", HOSTS)
def test_host_packages_use_public_names_only(host: str) -> None:
    """Public are the names of the core's `__all__` and the errors."""
    public = set(prism_core.__all__)
    private = [
        f"{relative(path)}: {module} {name}".rstrip()
        for path in sources(host)
        for module, name in core_imports(path)
        if module != "prism_core.errors" and (module != "prism_core" or name not in public)
    ]
    assert not private


def test_every_public_name_exists_and_is_documented() -> None:
    assert not [name for name in prism_core.__all__ if not documented(getattr(prism_core, name))]


def test_public_names_are_listed_once() -> None:
    assert len(prism_core.__all__) == len(set(prism_core.__all__))


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_are_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_files_stay_readable() -> None:
    sizes = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in sources(*PACKAGES)}
    assert not {path: lines for path, lines in sizes.items() if lines > MAX_FILE_LINES}


def test_functions_stay_readable() -> None:
    long = [
        f"{relative(path)}:{function.lineno} {function.name}"
        for path in sources(*PACKAGES)
        for function in functions(path)
        if (function.end_lineno or function.lineno) - function.lineno + 1 > MAX_FUNCTION_LINES
    ]
    assert not long


def test_no_path_of_one_machine_is_left_in_the_project() -> None:
    found = []
    for path in project_files():
        content = path.read_bytes()
        if b"\0" in content:
            continue
        found += [
            f"{relative(path)}:{number}"
            for number, line in enumerate(content.decode(errors="replace").splitlines(), start=1)
            if MACHINE_PATHS.search(line)
        ]
    assert not found
