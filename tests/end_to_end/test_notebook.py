"""The example notebook shows what its cells show today: `python docs/make_notebook.py` writes it again."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[2] / "docs" / "make_notebook.py"


def made_by_script() -> tuple[dict[str, Any], Path]:
    spec = importlib.util.spec_from_file_location("make_notebook", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.notebook(), module.NOTEBOOK


def test_the_notebook_is_up_to_date() -> None:
    made, path = made_by_script()
    kept = json.loads(path.read_text(encoding="utf-8"))
    for now, then in zip(made["cells"], kept["cells"]):
        assert now == then, "run: python docs/make_notebook.py"
    assert made == kept
    code = [cell for cell in kept["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert all(cell["outputs"] for cell in code)
    assert {"nbformat": kept["nbformat"], "nbformat_minor": kept["nbformat_minor"]} == {
        "nbformat": 4,
        "nbformat_minor": 5,
    }
