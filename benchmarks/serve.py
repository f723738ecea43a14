"""How much pages and HTTP workers cost a study: tells per second with and without pages, events, and memory.

``python benchmarks/serve.py [--pages 200] [--workers 50] [--pulls 100000] [--seconds 600]``

A study is made that never ends, with so many pulls. A server is started on the loopback interface. Workers ask and tell
over HTTP, in turns without pages and with all of them open. In the end every page must have seen the last result.
"""

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import mfbandit as mf

TOKEN = "a token for benchmarks"
PULLS = re.compile(rb'"pulls":(\d+)')


def make_study(path, pulls):
    """A study of three arms that are equally good, so that it goes on."""
    problem = mf.Problem(["a", "b", "c"], [("quick", 1.0, 0.1), ("exact", 5.0)], reward="bernoulli")
    draw = random.Random(1)
    with mf.create_study(problem, storage=path, name="loaded", width=256, durable=False, policy="lucb-top") as study:
        while study.view().pulls < pulls:
            study.tell_all([(pull, float(draw.random() < 0.5)) for pull in study.ask(256)])


class Connection:
    """One connection that is kept open; httpx would be slower than the server."""

    def __init__(self, port):
        self.port, self.reader, self.writer = port, None, None

    async def post(self, path, body):
        """Send JSON, and get JSON."""
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        self.writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        found = await self.reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1]) for line in found.split(b"\r\n") if line.lower().startswith(b"content-len")
        )
        return json.loads(await self.reader.readexactly(length))


class Load:
    """Workers and pages."""

    def __init__(self, port):
        self.port, self.told, self.slowest = port, 0, 0.0
        self.events, self.last = 0, {}

    async def work(self, until):
        """Ask and tell, one pull after another."""
        connection, draw = Connection(self.port), random.Random()
        while time.monotonic() < until:
            for pull in (await connection.post("/api/studies/loaded/ask", {"n": 1, "lease_seconds": 60}))["pulls"]:
                started = time.monotonic()
                told = {"pull": pull["id"], "reward": float(draw.random() < 0.5)}
                await connection.post("/api/studies/loaded/tell", told)
                self.slowest = max(self.slowest, time.monotonic() - started)
                self.told += 1
        connection.writer.close()

    async def look(self, number):
        """Keep a page open."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**24)
        writer.write(f"GET /api/studies/loaded/events HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
        try:
            kind = b""
            while line := await reader.readline():
                if line.startswith(b"event: "):
                    kind = line[7:].strip()
                elif line.startswith(b"data: ") and kind == b"study":
                    self.events += 1
                    self.last[number] = int(PULLS.search(line)[1])  # to read all of it takes longer than to send it
        finally:
            writer.close()


def used(number):
    """The processor time of a process, in seconds; what other programs do beside it does not matter for that."""
    with open(f"/proc/{number}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(number):
    """The memory of a process, in MiB."""
    with open(f"/proc/{number}/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


async def measure(port, server, options):
    turns, rates, sizes = 6, {"without": [], "with": []}, []
    busy = {"without": [], "with": []}
    pages, load, final = [], Load(port), {}
    for turn in range(turns):
        kind = ("without", "with")[turn % 2]
        if kind == "with":
            pages = [asyncio.create_task(load.look(number)) for number in range(options.pages)]
            await asyncio.sleep(1.0)
        load.told, load.slowest, events, before = 0, 0.0, load.events, used(server.pid)
        until = time.monotonic() + options.seconds / turns
        await asyncio.gather(*(load.work(until) for _ in range(options.workers)))
        rate = load.told * turns / options.seconds
        rates[kind].append(rate)
        busy[kind].append((used(server.pid) - before, load.told))
        if kind == "with":
            await asyncio.sleep(5.0)
            final = dict(load.last)
            for page in pages:
                page.cancel()
            await asyncio.gather(*pages, return_exceptions=True)
        sizes.append(memory(server.pid))
        print(
            f"{kind:>7} pages: {rate:7.0f} tells/s, slowest {load.slowest:.2f} s, {load.events - events} events, "
            f"{sizes[-1]:.0f} MiB",
            flush=True,
        )
    return rates, sizes, final, busy


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in {"pages": 200, "workers": 50, "pulls": 100_000, "seconds": 600}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/loaded.db"
        make_study(path, options.pulls)
        environment = {**os.environ, "MFBANDIT_TOKEN": TOKEN}
        command = [sys.executable, "-m", "mfbandit", "serve", path, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
            try:
                port = int(server.stdout.readline().strip().rstrip("/").rpartition(":")[2])
                rates, sizes, final, busy = asyncio.run(measure(port, server, options))
            finally:
                server.terminate()
        with mf.load_study(path) as study:
            pulls = study.view().pulls
    slower = 1.0 - sum(rates["with"][1:]) / sum(rates["without"][1:])
    print(f"tells are {slower:.0%} slower with {options.pages} pages; memory {sizes[1]:.0f} to {sizes[-1]:.0f} MiB")
    # The first turn begins cold.
    each = sum(cpu for cpu, _ in busy["without"][1:]) / sum(told for _, told in busy["without"][1:])
    watching = sum(cpu - told * each for cpu, told in busy["with"]) / (options.seconds / 2)
    print(f"a pull takes {1000 * each:.2f} ms of the server, and all pages {watching:.1%} of a core")
    print(f"{sum(seen == pulls for seen in final.values())} of {options.pages} pages saw all {pulls:,} results")


if __name__ == "__main__":
    main()
