"""Runs a command and fails unless it ends with the expected status."""

import subprocess
import sys

expected, command = int(sys.argv[1]), sys.argv[2:]
found = subprocess.run(command).returncode
if found != expected:
    sys.exit(f"expected status {expected}, found {found}")
