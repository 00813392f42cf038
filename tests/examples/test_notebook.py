"""The notebook runs from top to bottom, and is kept without outputs, which could become untrue."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.deployment import cleaned_environment
from tests.support.repository import ROOT

NOTEBOOK = ROOT / "examples/notebook.ipynb"
# In a process of its own: what the kernel's packages warn of is not ours to mend.
EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
client = NotebookClient(notebook, timeout=600, startup_timeout=600, kernel_name="python3")
client.execute(cwd=sys.argv[2])
nbformat.write(notebook, sys.argv[3])
"""


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == kind]


def printed(path: Path) -> str:
    outputs = [output for cell in cells(path, "code") for output in cell["outputs"]]
    assert {output["name"] for output in outputs} == {"stdout"}
    return "".join("".join(output["text"]) for output in outputs)


def test_it_runs_from_top_to_bottom(tmp_path: Path) -> None:
    run = [sys.executable, "-c", EXECUTE, str(NOTEBOOK), str(tmp_path), str(tmp_path / "run.ipynb")]
    environment = cleaned_environment(IPYTHONDIR=str(tmp_path), JUPYTER_RUNTIME_DIR=str(tmp_path / "runtime"))
    done = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    said = printed(tmp_path / "run.ipynb")
    assert "values opened to the servers: 0\n" in said
    assert float(re.findall(r"pooled samples: (\S+)", said)[0]) < 1e-12
    alone = re.findall(r"AUROC: (\S+), 95% CI: (\S+)-(\S+) \(DeLong\)", said)
    widths = [float(high) - float(low) for _, low, high in alone]
    assert len(widths) == 4
    released = re.findall(r"^(\w+) +(auroc|brier) +0\.\d+", said, re.MULTILINE)
    kinds = ("publication", "private")
    assert released == [(kind, metric) for kind in kinds for metric in ("auroc", "brier")]
    assert widths[3] < widths[0] < widths[1] < widths[2]  # together, north, harbour, valley


def test_it_is_kept_without_outputs() -> None:
    assert cells(NOTEBOOK, "code")
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells(NOTEBOOK, "code"))


def test_every_step_is_told_before_it_is_taken() -> None:
    kinds = [cell["cell_type"] for cell in json.loads(NOTEBOOK.read_text())["cells"]]
    assert all(kinds[index - 1] == "markdown" for index, kind in enumerate(kinds) if kind == "code")


def test_its_links_lead_somewhere() -> None:
    text = "".join("".join(cell["source"]) for cell in cells(NOTEBOOK, "markdown"))
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert links
    assert all((NOTEBOOK.parent / link).exists() for link in links)
