"""A program that ends while a policy compiles ends well."""

import subprocess
import sys

PROGRAM = """
import threading
from mfbandit.study.state._compile_thread import start_compiling

begun = threading.Event()

def compile_for_ever():
    try:
        begun.set()
        while True:
            sum(range(1000))
    finally:
        print("left", flush=True)

start_compiling(compile_for_ever)
begun.wait()
print("done", flush=True)
"""


def test_what_compiles_leaves_before_the_program_does():
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False)
    assert ended.stdout.split() == ["done", "left"]
    assert ended.returncode == 0
    assert ended.stderr == ""
