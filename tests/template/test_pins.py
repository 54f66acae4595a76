"""The pinned requirements: complete, hashed, consistent, and bound to no index."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = sorted(path.stem for path in (ROOT / "requirements").glob("*.in"))
LOCKS = [*(f"requirements/{name}.txt" for name in ENVIRONMENTS), "layers/dependencies/requirements.txt"]
PIN = re.compile(r"^([a-z0-9-]+)==(\S+)(?: ; .+)? \\$", re.MULTILINE)


def read(root, path):
    return (root / path).read_text(encoding="utf-8")


def pins(root, path):
    return dict(PIN.findall(read(root, path)))


def asked(root, path):
    """Return the packages that an .in file lists itself."""
    lines = read(root, path).splitlines()
    return {re.split(r"[\[<>=;]", line)[0] for line in lines if line and line[0].isalnum()}


@pytest.mark.parametrize("path", LOCKS)
def test_every_required_package_is_pinned(root, path):
    names = asked(root, path.replace(".txt", ".in"))
    assert names
    assert names <= set(pins(root, path))


@pytest.mark.parametrize("path", LOCKS)
def test_every_pin_has_a_hash(root, path):
    text = read(root, path)
    entries = re.split(r"\n(?=[a-z0-9])", text)[1:]
    assert len(entries) == len(PIN.findall(text)) > 0
    assert all("--hash=sha256:" in entry for entry in entries)


@pytest.mark.parametrize("path", [*LOCKS, *(p.replace(".txt", ".in") for p in LOCKS), "pyproject.toml"])
def test_no_index_is_named(root, path):
    assert not re.search(r"://|--(extra-)?index-url|--find-links", read(root, path))


def test_make_lock_compiles_every_file_of_pins(root):
    assert {"core", "dev", "sam"} <= set(ENVIRONMENTS)
    compiled = re.findall(r"\$\(call compile,(\S+)\)", read(root, "Makefile"))
    assert sorted(f"{path}.txt" for path in compiled) == sorted(LOCKS)


def test_no_file_names_the_host_of_a_registry(root):
    # Builders may use their own index. The names are split, as this file must not contain them.
    hosts = ("pypi" + ".org", "python" + "hosted.org", "npm" + "js.org")
    command = ["git", "grep", "--untracked", "-l", "-i", "-F", *(part for host in hosts for part in ("-e", host))]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (1, "")


def test_the_tested_sources_are_the_deployed_ones(root):
    deployed = pins(root, "layers/dependencies/requirements.txt")
    tested = pins(root, "requirements/dev.txt")
    assert {name: tested.get(name) for name in deployed} == deployed


def test_the_layers_pins_have_no_markers_that_depend_on_the_building_python(root):
    lines = read(root, "layers/dependencies/requirements.txt").splitlines()
    assert [line for line in lines if " ; " in line] == []


def test_the_layer_keeps_the_model_of_every_aws_service_that_the_functions_call(root):
    makefile = read(root, "layers/dependencies/Makefile")
    kept = re.search(r"^SERVICES = (.+)$", makefile, re.MULTILINE)
    assert kept
    sources = [*(root / "layers/service/src").rglob("*.py"), *(root / "functions").rglob("*.py")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    called = set(re.findall(r"""(?:client|resource|get_service_model)\(\s*["']([a-z0-9-]+)["']""", code))
    assert called <= set(kept.group(1).split())


@pytest.mark.parametrize("python", ["/nowhere/python3", "/bin/false"])
def test_a_build_without_pip_says_what_to_set(root, tmp_path, python):
    words = ["make", "--makefile", str(root / "layers/dependencies/Makefile"), "build-DependenciesLayer"]
    environment = {"PATH": "/usr/bin:/bin", "ARTIFACTS_DIR": str(tmp_path), "HEADWAY_LAYER_PYTHON": python}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert f"{python} is missing or has no pip: set HEADWAY_LAYER_PYTHON to a Python with pip" in done.stderr


def test_the_emulator_is_pinned_to_the_version_whose_private_function_the_sandbox_calls(root):
    assert pins(root, "requirements/sandbox.txt")["ministack"] == "1.5.33"
    assert '"ministack==1.5.33"' in read(root, "pyproject.toml")


def test_make_help_lists_every_target(root):
    makefile = read(root, "Makefile")
    targets = set(re.findall(r"^\.PHONY: (\S+)$", makefile, re.MULTILINE))
    listed = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=root, capture_output=True, text=True, check=True
    ).stdout
    assert targets == set(re.findall(r"^  make (\S+) +\S", listed, re.MULTILINE))
    assert {"demo", "test", "check", "build", "deploy", "setup", "lock", "clean"} <= targets


def test_the_checks_look_for_every_python_that_headway_runs_on(root):
    tested = re.findall(
        r'^    "Programming Language :: Python :: (3\.\d+)",$', read(root, "pyproject.toml"), re.MULTILINE
    )
    (versions,) = re.findall(r"^for version in (.+); do$", read(root, ".ci/run"), re.MULTILINE)
    assert versions.split() == tested


def test_an_unsupported_python_is_refused_with_a_message(root, tmp_path):
    shutil.copy(root / "Makefile", tmp_path)
    (tmp_path / "requirements").mkdir()
    for environment in ("uv", "core"):
        (tmp_path / "requirements" / f"{environment}.txt").touch()
    done = subprocess.run(
        ["make", ".envs/core/.made", f"PYTHON={tmp_path}/python3.9"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "Headway needs Python 3.11, 3.12 or 3.13" in done.stderr
    assert not (tmp_path / ".envs").exists()
