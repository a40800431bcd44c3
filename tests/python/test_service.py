# SPDX-License-Identifier: Apache-2.0
"""Jobs: arrays, files and functions; progress, cancellation, await, signals."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

import relayout as rl

A = np.random.default_rng(7).random((500, 600)).astype("f4")


class Chunks:
    """A storage of functions: bytes in memory, which can fail or be slow."""

    def __init__(self, size, failure=None, delay=0.0):
        self.data = bytearray(size)
        self.failure, self.delay = failure, delay
        self.calls = 0

    def read(self, offset, view):
        self.act()
        view[:] = self.data[offset:offset + len(view)]

    def write(self, offset, view):
        self.act()
        self.data[offset:offset + len(view)] = view

    def act(self):
        self.calls += 1
        time.sleep(self.delay)
        if self.failure is not None:
            raise self.failure


class Jobs(unittest.TestCase):
    def test_arrays(self):
        out = np.empty((600, 500), "f4")
        with rl.Service(memory="8MiB", threads=2) as service:
            job = service.submit(A, out, perm=(1, 0))
            job.wait(timeout=60)
            self.assertTrue(job.done())
            seen = job.progress()
        self.assertEqual((seen.state, seen.bytes_done), ("done", seen.bytes_total))
        np.testing.assert_array_equal(out, A.T)

    def test_cast_and_negative_strides(self):
        out = np.zeros((600, 500))[::-1]
        with rl.Service() as service:
            service.submit(A, out, perm=(1, 0)).wait()
        np.testing.assert_array_equal(out, A.T)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder, rl.Service(memory="2MiB") as service:
            path = os.path.join(folder, "a.bin")
            with open(path, "wb") as file:
                file.write(b"head" * 32 + A.tobytes())
            with open(path, "rb") as source, open(os.path.join(folder, "b"), "w+b") as target:
                ends = (rl.Storage.of_file(source, "f32[500,600]", offset=128),
                        rl.Storage.of_file(target, "f32[500,600]{0,1}"))
                service.submit(*ends).wait()
                target.seek(0)
                self.assertEqual(target.read(), A.T.tobytes())

    def test_functions(self):
        source, target = Chunks(A.nbytes), Chunks(A.nbytes)
        source.data[:] = A.tobytes()
        flushed = []
        ends = (rl.Storage("f32[500,600]", read=source.read, identify=lambda: 5),
                rl.Storage("f32[600,500]{1,0:T(100,100)}", write=target.write, read=target.read,
                           granule=40_000, flush=lambda: flushed.append(1)))
        with rl.Service(memory="4MiB") as service:
            service.submit(*ends, perm=(1, 0)).wait()
        self.assertEqual(target.calls, 30)
        tiles = A.T.reshape(6, 100, 5, 100).transpose(0, 2, 1, 3)
        self.assertEqual(bytes(target.data), tiles.tobytes())

    def test_functions_that_fail(self):
        for failure, kind in ((KeyError("chunk 7"), rl.IOFailure), (rl.DataLoss("bad"), rl.DataLoss)):
            source = Chunks(A.nbytes, failure)
            end = rl.Storage("f32[500,600]", read=source.read)
            with rl.Service() as service:
                with self.assertRaises(kind) as caught:
                    service.submit(end, np.empty_like(A)).wait()
            self.assertIs(caught.exception.__cause__, failure)
            self.assertIn(str(failure), str(caught.exception))

    def slow_job(self, service):
        source = Chunks(A.nbytes, delay=0.05)
        end = rl.Storage("f32[500,600]{1,0:T(10,60)}", read=source.read, granule=2400)
        return service.submit(end, np.empty_like(A))

    def test_cancel(self):
        service = rl.Service(memory="1MiB", threads=1)
        job = self.slow_job(service)
        with self.assertRaises(TimeoutError):
            job.wait(timeout=0.1)
        with self.assertRaises(rl.ArgumentError):
            job.result()
        job.cancel()
        with self.assertRaises(rl.Cancelled):
            job.wait()
        job = self.slow_job(service)
        del job, service  # cancels, and waits until the functions are not called any more

    def test_await(self):
        async def main():
            with rl.Service(threads=2) as service:
                outs = [np.empty((600, 500), "f4") for _ in range(6)]
                await asyncio.gather(*(service.submit(A, out, perm=(1, 0)) for out in outs))
                for out in outs:
                    np.testing.assert_array_equal(out, A.T)
                job = service.submit(A, outs[0], perm=(1, 0))
                job.wait()
                await job
                slow = self.slow_job(service)
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(slow, 0.1)
                with self.assertRaises(rl.Cancelled):
                    slow.wait()
        asyncio.run(main())

    def test_refusals(self):
        with rl.Service() as service:
            with self.assertRaises(rl.ArgumentError):
                service.submit(A, np.empty((3, 3), "f4"))
        for size in ("much", "4XB", "-"):
            with self.assertRaises(rl.ArgumentError):
                rl.Service(memory=size)
        with self.assertRaises(rl.RangeError):
            rl.Service(memory=5)

    def test_interrupt(self):
        """Ctrl-C ends a wait, a movement in memory, and a block of a service."""
        prelude = ("import numpy as np, relayout as rl, time\n"
                   "from relayout import _moves; _moves.INTERRUPTIBLE_BYTES = 1\n"
                   "def slow(offset, view): time.sleep(.05)\n"
                   "end = rl.Storage('u8[40000000]', read=slow, granule=100000)\n"
                   "s = rl.Service(memory='1MiB', threads=1)\n"
                   "print('ready', flush=True)\n")
        for body in ("s.submit(end, np.zeros(40000000, 'u1')).wait()",
                     "with s: s.submit(end, np.zeros(40000000, 'u1'))",
                     "a = np.zeros((3000, 3000))\nwhile True: rl.transpose(a)"):
            child = subprocess.Popen([sys.executable, "-c", prelude + body], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True)
            self.addCleanup(child.kill)
            child.stdout.readline()
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            _, text = child.communicate(timeout=60)
            self.assertIn("KeyboardInterrupt", text, body)
            self.assertEqual(child.returncode, -signal.SIGINT, text)

    def test_exit_with_a_job(self):
        """A process ends while a job calls its functions."""
        script = ("import numpy as np, relayout as rl, time\n"
                  "def slow(offset, view): time.sleep(.02)\n"
                  "end = rl.Storage('u8[40000000]', read=slow, granule=100000)\n"
                  "s = rl.Service(memory='1MiB', threads=2)\n"
                  "job = s.submit(end, np.zeros(40000000, 'u1'))\n"
                  "import builtins; builtins.kept = s, job  # beyond the modules\n"
                  "time.sleep(.1)\n")
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                             timeout=60)
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_gil_is_free(self):
        a = np.zeros((4000, 4000))
        ticks = []
        done = threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.001)
        ticker = threading.Thread(target=tick)
        ticker.start()
        begin = time.monotonic()
        rl.contiguous(a.T, threads=1)
        end = time.monotonic()
        done.set()
        ticker.join()
        self.assertGreater(sum(begin < t < end for t in ticks), 3)


if __name__ == "__main__":
    unittest.main()
