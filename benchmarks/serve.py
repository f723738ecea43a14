"""How much pages and HTTP workers cost a study: tells with and without pages, events, and memory.

``python benchmarks/serve.py slowdown``   turns with and without pages, 2 to 3 minutes
``python benchmarks/serve.py memory``     all pages open for ten minutes

Both take ``[--pages 200] [--workers 50] [--pulls 100000] [--seconds N] [--study FILE]``. A study is made that never
ends, with so many pulls (a minute); FILE keeps it for the next time. A server is started on the loopback interface.
Workers ask and tell over HTTP as fast as they can. Pages are read by a process of their own, as cheaply as can be. In
the end every page must have seen all that any page saw, and the last result.

Processor time of the server by tell is what to compare on a machine that others use, tells per second on one that is
quiet.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mfbandit as mf

TOKEN = "a token for benchmarks"
#: An update of a study, and how many pulls it tells of.
UPDATE = re.compile(rb'event: study\r?\n.*?data: \{.*?"pulls":(\d+)')
HEADER = b"event: study"
#: Without, with, with, without: whatever grows with the study is the same for both.
TURNS = ("without", "with", "with", "without") * 2
#: Seconds before what is measured: pages are opened, or the server sees that they are gone.
SETTLE_SECONDS = 3.0
#: So many tells come before the first turn: the study is opened, and what it needs is compiled meanwhile.
WARM_TELLS = 3000


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

    async def send(self, method, path, body=None):
        """Send JSON, and get JSON."""
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        self.writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        found = await self.reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1]) for line in found.split(b"\r\n") if line.lower().startswith(b"content-len")
        )
        return json.loads(await self.reader.readexactly(length))


class Workers:
    """Workers that ask and tell, one pull after another, until they are told to end."""

    def __init__(self, port, number):
        self.told, self.slowest, self._ended = 0, 0.0, False
        self._tasks = [asyncio.create_task(self._work(port)) for _ in range(number)]

    async def _work(self, port):
        connection, draw = Connection(port), random.Random()
        while not self._ended:
            for pull in (await connection.send("POST", "/api/studies/loaded/ask", {"n": 1, "lease_seconds": 60}))[
                "pulls"
            ]:
                started = time.monotonic()
                told = {"pull": pull["id"], "reward": float(draw.random() < 0.5)}
                await connection.send("POST", "/api/studies/loaded/tell", told)
                self.slowest = max(self.slowest, time.monotonic() - started)
                self.told += 1
        connection.writer.close()

    async def end(self):
        """Let everybody finish what is begun."""
        self._ended = True
        await asyncio.gather(*self._tasks)


class Page(asyncio.Protocol):
    """A page that is open: which updates it has got, by their numbers of pulls."""

    def __init__(self, port):
        self.port, self.seen, self.left = port, [], b""

    def connection_made(self, transport):
        """Ask for events."""
        transport.write(f"GET /api/studies/loaded/events HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())

    def data_received(self, data):
        """Look for updates; an event may come in pieces."""
        data = self.left + data
        end = 0
        for found in UPDATE.finditer(data):
            self.seen.append(int(found[1]))
            end = found.end()
        start = data.find(HEADER, end)
        self.left = data[start:] if start >= 0 else data[max(end, len(data) - len(HEADER)) :]


def read_pages(port, number, pipe):
    """Keep pages open while the other end of the pipe wants it; runs in a process of its own."""

    async def main():
        loop = asyncio.get_running_loop()
        pages, transports = [], []
        while (order := await loop.run_in_executor(None, pipe.recv)) != "end":
            if order == "open":
                made = [await loop.create_connection(lambda: Page(port), "127.0.0.1", port) for _ in range(number)]
                transports, pages = [one for one, _ in made], [two for _, two in made]
            else:
                for transport in transports:
                    transport.close()
            pipe.send([page.seen for page in pages])

    asyncio.run(main())


def used(number):
    """The processor time of a process, in seconds; what other programs do beside it does not matter for that."""
    with open(f"/proc/{number}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(number):
    """The memory of a process, in MiB."""
    with open(f"/proc/{number}/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


class Bench:
    """A server, workers, and pages."""

    def __init__(self, options, port, server):
        self.options, self.port, self.server = options, port, server.pid
        self.seen, self.pulls = [], 0
        self.pipe, other = multiprocessing.Pipe()
        self.reader = multiprocessing.Process(target=read_pages, args=(port, options.pages, other), daemon=True)
        self.reader.start()

    async def order(self, what):
        """Have pages opened or closed; returns what they have seen."""
        self.pipe.send(what)
        return await asyncio.get_running_loop().run_in_executor(None, self.pipe.recv)

    async def close(self):
        """Have pages closed; keeps what they have seen, and what there was to see."""
        await asyncio.sleep(5.0)  # updates are not sent at once
        self.pulls = (await Connection(self.port).send("GET", "/api/studies/loaded"))["pulls"]
        self.seen = await self.order("close")

    async def warm_up(self):
        """Work until the study is open and all is compiled."""
        workers = Workers(self.port, self.options.workers)
        while workers.told < WARM_TELLS:
            await asyncio.sleep(0.1)
        await workers.end()

    async def turn(self, seconds):
        """Work for a while: tells per second, processor time of the server by tell, and the slowest tell."""
        workers = Workers(self.port, self.options.workers)
        await asyncio.sleep(SETTLE_SECONDS)
        before, told, started = used(self.server), workers.told, time.monotonic()
        workers.slowest = 0.0
        await asyncio.sleep(seconds)
        told, took, cpu = workers.told - told, time.monotonic() - started, used(self.server) - before
        await workers.end()
        return told / took, cpu / told, workers.slowest

    async def slowdown(self):
        """Turns with and without pages."""
        seconds = self.options.seconds / len(TURNS)
        rates, costs = {"without": [], "with": []}, {"without": [], "with": []}
        await self.warm_up()
        for kind in TURNS:
            if kind == "with":
                await self.order("open")
            rate, cost, slowest = await self.turn(seconds)
            if kind == "with":
                await self.close()
            rates[kind].append(rate)
            costs[kind].append(cost)
            events = sum(map(len, self.seen)) if kind == "with" else 0
            print(
                f"{kind:>7} pages: {rate:6.0f} tells/s, slowest {slowest:.2f} s, {1000 * cost:.3f} ms of the server "
                f"by tell, {events} updates, {memory(self.server):.0f} MiB",
                flush=True,
            )
        slower = 1.0 - sum(rates["with"]) / sum(rates["without"])
        more = sum(costs["with"]) / sum(costs["without"]) - 1.0
        print(f"with {self.options.pages} pages: {slower:.1%} fewer tells per second, {more:.1%} more processor time")

    async def memory(self):
        """All pages open and all workers at work, and what the server has in memory meanwhile."""
        await self.warm_up()
        await self.order("open")
        for place in range(10):
            rate, _, slowest = await self.turn(self.options.seconds / 10 - SETTLE_SECONDS)
            size = memory(self.server)
            print(f"{place + 1:>7} of 10: {rate:6.0f} tells/s, slowest {slowest:.2f} s, {size:.1f} MiB", flush=True)
        await self.close()

    def say_what_was_seen(self):
        """Whether any page has missed an update that another one had, or the last result."""
        seen, pulls = self.seen, self.pulls
        # Whoever came later begins later.
        first = max((updates[0] for updates in seen if updates), default=0)
        every = {update for updates in seen for update in updates if update >= first}
        whole = sum(every <= set(updates) for updates in seen)
        last = sum(updates[-1:] == [pulls] for updates in seen)
        print(f"{len(every)} updates: {whole} of {len(seen)} pages saw each, {last} the last of {pulls:,} results")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["slowdown", "memory"])
    for name, default in {"pages": 200, "workers": 50, "pulls": 100_000, "seconds": None}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--study", type=Path)
    options = parser.parse_args()
    options.seconds = options.seconds or {"slowdown": 110, "memory": 600}[options.what]
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/loaded.db"
        if options.study is None or not options.study.exists():
            make_study(path, options.pulls)
            if options.study is not None:
                shutil.copyfile(path, options.study)
        else:
            shutil.copyfile(options.study, path)
        environment = {**os.environ, "MFBANDIT_TOKEN": TOKEN}
        command = [sys.executable, "-m", "mfbandit", "serve", path, "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
            try:
                port = int(server.stdout.readline().strip().rstrip("/").rpartition(":")[2])
                bench = Bench(options, port, server)
                asyncio.run(bench.slowdown() if options.what == "slowdown" else bench.memory())
                bench.say_what_was_seen()
                bench.pipe.send("end")
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
