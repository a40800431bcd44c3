# SPDX-License-Identifier: Apache-2.0
"""pyopencl's objects: contexts, queues, buffers, wait lists, events and arrays."""

import importlib.util
import os
import subprocess
import sys
import unittest

import numpy as np

HAS_PYOPENCL = importlib.util.find_spec("pyopencl") is not None

# Runs with both orders of import: whose loader of OpenCL comes first must not matter.
SCRIPT = """
import numpy as np
a = np.arange(300 * 200, dtype="f4").reshape(300, 200)
ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
src = cl.Buffer(ctx, cl.mem_flags.COPY_HOST_PTR, hostbuf=a)
dst = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, a.nbytes)
gate = cl.UserEvent(ctx)
event = rl.plan(ctx, "f32[300,200]", "f32[300,200]{0,1}").enqueue(queue, src, dst, wait_for=[gate])
assert event.command_execution_status != cl.command_execution_status.COMPLETE
gate.set_status(cl.command_execution_status.COMPLETE)
out = np.empty((200, 300), "f4")
cl.enqueue_copy(queue, out, dst, wait_for=[event])
assert np.array_equal(out, a.T)
"""


@unittest.skipUnless(HAS_PYOPENCL, "pyopencl is not installed")
class OpenCl(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import pyopencl as cl
        import pyopencl.array
        import relayout as rl
        cls.cl, cls.rl = cl, rl
        cls.context = cl.create_some_context(interactive=False)
        cls.queue = cl.CommandQueue(cls.context)

    def test_import_orders(self):
        for first in ("import pyopencl as cl\nimport relayout as rl\n",
                      "import relayout as rl\nimport pyopencl as cl\n"):
            self.run_script(first + SCRIPT)

    def run_script(self, script, **environment):
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                             env={**os.environ, **environment})
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_without_a_loader_of_the_system(self):
        """pyopencl's wheel has one of its own, of another name."""
        with open("/proc/self/maps") as maps:
            if "libOpenCL-" not in maps.read():
                self.skipTest("pyopencl is not from a wheel")
        for first in ("import pyopencl as cl\nimport relayout as rl\n",
                      "import relayout as rl\nimport pyopencl as cl\n"):
            self.run_script(first + SCRIPT + "assert 'libOpenCL.so' not in open('/proc/self/maps').read()",
                            RELAYOUT_OPENCL_LIBRARY="libnone.so")

    def test_transpose_of_arrays(self):
        a = np.random.rand(20, 30, 40).astype("f4")
        on_device = self.cl.array.to_device(self.queue, a)
        for axes in (None, (1, 0, 2), (2, 0, -2)):
            moved = self.rl.transpose(on_device, axes)
            self.assertIsInstance(moved, self.cl.array.Array)
            np.testing.assert_array_equal(moved.get(), a.transpose(axes))
        view = on_device[3:17:2, :, 5]
        np.testing.assert_array_equal(self.rl.transpose(view).get(), a[3:17:2, :, 5].T)
        out = self.cl.array.empty(self.queue, (40, 30, 20), "f4")
        self.assertIs(self.rl.transpose(on_device, out=out), out)
        np.testing.assert_array_equal(out.get(), a.T)

    def test_plan(self):
        plan = self.rl.plan(self.context, "f32[64,100]", "bf16[64,100]{1,0:T(8,128)fill(zero)}")
        self.assertEqual(plan.destination_bytes, 64 * 128 * 2)
        self.assertEqual(plan.info.read_bytes, 64 * 100 * 4)
        with self.assertRaises(self.rl.ArgumentError):
            plan.enqueue(self.queue, None, None)
        buffer = self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, 64)
        with self.assertRaises(self.rl.RangeError):
            plan.enqueue(self.queue, buffer, buffer)


class Device(unittest.TestCase):
    def test_service(self):
        import relayout as rl
        a = np.random.rand(600, 700)
        out = np.empty((700, 600))
        with rl.Service(devices=[0]) as service:
            service.submit(a, out, perm=(1, 0)).wait()
        np.testing.assert_array_equal(out, a.T)


if __name__ == "__main__":
    unittest.main()
