"""The package as a whole: light to import, and its docstring examples hold."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

from nightgate import stats

MODULES = [f"nightgate.stats.{module.name}" for module in pkgutil.iter_modules(stats.__path__)]


def test_importing_it_loads_neither_scipy_nor_numpy() -> None:
    """`--help` and `check` import it too; scipy would cost them their start-up."""
    code = "import sys, nightgate.stats; print({'scipy', 'numpy'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_every_public_name_is_exported_once() -> None:
    assert sorted(set(stats.__all__)) == stats.__all__
    assert all(hasattr(stats, name) for name in stats.__all__)
