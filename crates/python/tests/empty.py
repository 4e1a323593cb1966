"""Runs the first Python block of the README, word for word, where nothing but the wheel is installed."""

import importlib.metadata
import os
import re
import sys
import tempfile
import time

readme = sys.argv[1]
with open(readme, encoding="utf-8") as file:
    section = file.read().split("\n## Python\n")[1].split("\n## ")[0]
block = re.findall(r"```python\n(.*?)```", section, re.DOTALL)[0]
installed = {found.metadata["Name"].lower() for found in importlib.metadata.distributions()}
extras = installed - {"tracelake", "pip", "setuptools"}
if extras:
    sys.exit(f"the environment isn't empty: {extras}")
begun = time.perf_counter()
import tracelake  # noqa: E402, F401

took = 1000 * (time.perf_counter() - begun)
print(f"Python {sys.version.split()[0]} imported it in {took:.0f} ms")
with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    exec(compile(block, readme, "exec"))
