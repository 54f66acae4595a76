"""Covalent with the executor as its plugin, and with its own settings in a temporary folder."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.client.covalent_executor.installed import metadata_in

# Covalent reads its configuration, and loads plugins, when it is imported.
_folder = tempfile.mkdtemp(prefix="covalent-")
os.environ["COVALENT_CONFIG_DIR"] = _folder
sys.path.append(str(metadata_in(Path(_folder))))
