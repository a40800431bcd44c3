#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time the conversion of a model's weights against what users run today.

    bench/weights.py --command build/relayout [--folder D] [--gigabytes G]
                     [--rounds N] [--memory SIZE,...] [FAMILY...]

Makes a file of weights with the names and shapes of a real model, but as many layers
as G gigabytes hold and values out of a generator, and turns it into another one,
in turns by

    cp      a copy of the input: the limit
    relayout SIZE   `relayout weights --memory SIZE`, by the recipe below
    torch   a loop over `safetensors` that joins, permutes and casts with torch,
            and save_file at the end
    numpy   the same with NumPy, and ml_dtypes for bf16
    mmap    a map of the input, torch views of it, `.contiguous()`, and each member
            written when it is made

Each runs in a process of its own, from its start until its output is on the disk; the
input is not in the page cache. What they make is compared, member by member, once.
Prints medians of the time and of the processor time, the time of `cp` over that of each,
the median and the worst, and the most memory a process held, in which mapped files
count. Packages that are not there are left out.
"""

import argparse
import hashlib
import json
import mmap
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

# ------------------------------------------------------------------ families

MOE_RECIPE = {"rules": [
    {"from": "*.self_attn.{q,k,v}_proj.weight", "to": "*.self_attn.qkv_proj.weight",
     "ops": ["concat 0"]},
    {"from": "*.experts.*.{gate,up}_proj.weight", "to": "*.experts.gate_up_proj",
     "ops": ["stack 0", "stack 2", "reshape 128,1536,2048", "perm 0,2,1"]},
    {"from": "*.experts.*.down_proj.weight", "to": "*.experts.down_proj",
     "ops": ["stack 0", "perm 0,2,1"]}],
    "rest": "copy"}


def moe_layer(n):
    """Qwen3-30B-A3B: 128 experts, 32 heads and 4 of keys and values."""
    p = "model.layers.%d." % n
    yield p + "input_layernorm.weight", [2048]
    for name, rows, columns in (("q_proj", 4096, 2048), ("k_proj", 512, 2048),
                                ("v_proj", 512, 2048), ("o_proj", 2048, 4096)):
        yield p + "self_attn.%s.weight" % name, [rows, columns]
    yield p + "mlp.gate.weight", [128, 2048]
    for e in range(128):
        for name, rows, columns in (("gate", 768, 2048), ("up", 768, 2048), ("down", 2048, 768)):
            yield p + "mlp.experts.%d.%s_proj.weight" % (e, name), [rows, columns]


def moe_results(names, get, xp):
    """The members that the recipe makes, by a package."""
    def experts(p, name):
        return xp.stack([get("%smlp.experts.%d.%s_proj.weight" % (p, e, name))
                         for e in range(128)], 0)
    for p in layers_of(names):
        yield p + "self_attn.qkv_proj.weight", xp.concat(
            [get(p + "self_attn.%s_proj.weight" % x) for x in "qkv"], 0)
        both = xp.stack([experts(p, "gate"), experts(p, "up")], 2)
        yield p + "mlp.experts.gate_up_proj", xp.permute(
            both.reshape(128, 1536, 2048), (0, 2, 1))
        yield p + "mlp.experts.down_proj", xp.permute(experts(p, "down"), (0, 2, 1))
    for name in names:
        if not any(part in name for part in (".q_", ".k_", ".v_", ".experts.")):
            yield name, get(name)


DENSE_RECIPE = {"rules": [
    {"from": "*.self_attn.{q,k,v}_proj.weight", "to": "*.self_attn.qkv_proj.weight",
     "ops": ["concat 0", "cast bf16"]},
    {"from": "*.mlp.{gate,up}_proj.weight", "to": "*.mlp.gate_up_proj.weight",
     "ops": ["concat 0", "cast bf16"]},
    {"from": "*.{self_attn.o,mlp.down}_proj.weight", "ops": ["cast bf16"]},
    {"from": "*norm.weight", "ops": ["cast bf16"]},
    {"from": "{lm_head,model.embed_tokens}.weight", "ops": ["cast bf16"]}],
    "rest": "refuse"}


def dense_layer(n):
    """Llama-3.1-8B: 32 heads and 8 of keys and values."""
    p = "model.layers.%d." % n
    yield p + "input_layernorm.weight", [4096]
    for name, rows, columns in (
            ("self_attn.q", 4096, 4096), ("self_attn.k", 1024, 4096),
            ("self_attn.v", 1024, 4096), ("self_attn.o", 4096, 4096),
            ("mlp.gate", 14336, 4096), ("mlp.up", 14336, 4096), ("mlp.down", 4096, 14336)):
        yield p + name + "_proj.weight", [rows, columns]


def dense_results(names, get, xp):
    for p in layers_of(names):
        yield p + "self_attn.qkv_proj.weight", xp.bf16(xp.concat(
            [get(p + "self_attn.%s_proj.weight" % x) for x in "qkv"], 0))
        yield p + "mlp.gate_up_proj.weight", xp.bf16(xp.concat(
            [get(p + "mlp.%s_proj.weight" % x) for x in ("gate", "up")], 0))
    for name in names:
        if not any(part in name for part in (".q_", ".k_", ".v_", ".gate_", ".up_")):
            yield name, xp.bf16(get(name))


# Type, vocabulary, hidden size, layers of the model, a layer, recipe, results.
FAMILIES = {
    "moe": ("BF16", 151936, 2048, 48, moe_layer, MOE_RECIPE, moe_results),
    "dense": ("F32", 128256, 4096, 32, dense_layer, DENSE_RECIPE, dense_results)}
ELEMENT_BYTES = {"BF16": 2, "F32": 4}


def layers_of(names):
    return sorted({name[:name.index(".", 13) + 1] for name in names
                   if name.startswith("model.layers.")})


# --------------------------------------------------------------------- input

def product(dims):
    total = 1
    for size in dims:
        total *= size
    return total


def members_of(family, limit):
    """As many layers as the bytes hold, and of the vocabulary a share as large."""
    kind, vocabulary, hidden, most, layer, *_ = FAMILIES[family]
    size = ELEMENT_BYTES[kind]
    layer_bytes = sum(product(dims) for _, dims in layer(0)) * size
    table_bytes = 2 * vocabulary * hidden * size
    share = min(1.0, limit / (layer_bytes * most + table_bytes))
    rows = max(8, int(vocabulary * max(share, 0.05)) // 8 * 8)
    count = max(1, min(most, round((limit - 2 * rows * hidden * size) / layer_bytes)))
    members = [("model.embed_tokens.weight", [rows, hidden])]
    for n in range(count):
        members += layer(n)
    return members + [("model.norm.weight", [hidden]), ("lm_head.weight", [rows, hidden])]


def write_header(file, members):
    """Members are (name, type, dims, bytes)."""
    header, at = {}, 0
    for name, kind, dims, count in members:
        header[name] = {"dtype": kind, "shape": dims, "data_offsets": [at, at + count]}
        at += count
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % 64)
    file.write(struct.pack("<Q", len(text)) + text)


def make_input(path, family, gigabytes):
    import numpy
    kind = FAMILIES[family][0]
    size = ELEMENT_BYTES[kind]
    members = [(name, kind, dims, product(dims) * size)
               for name, dims in members_of(family, gigabytes * 1e9)]
    needed, room = 2 * sum(m[3] for m in members), shutil.disk_usage(os.path.dirname(path)).free
    if needed * 5 // 4 > room:
        sys.exit("%s has room for %d bytes; the files take %d" % (path, room, needed))
    # Normal numbers, of which the upper halves are bf16; a length that no row divides.
    values = numpy.random.default_rng(28).standard_normal(4194301, dtype="f4")
    block = (values.view("u2")[1::2].copy() if size == 2 else values).tobytes()
    with open(path, "wb") as file:
        write_header(file, members)
        left = sum(m[3] for m in members)
        while left > 0:
            left -= file.write(block[:left])
        os.fsync(file.fileno())


# --------------------------------------------------------------------- peers

class Torch:
    def __init__(self):
        import torch
        self.bf16 = lambda array: array.to(torch.bfloat16)
        self.stack, self.concat, self.permute = torch.stack, torch.cat, torch.permute


class Numpy:
    def __init__(self):
        import ml_dtypes
        import numpy
        self.bf16 = lambda array: array.astype(ml_dtypes.bfloat16)
        self.stack, self.concat = numpy.stack, numpy.concatenate
        self.permute = numpy.transpose


def loop(source, out, results, framework):
    from safetensors import safe_open
    if framework == "torch":
        from safetensors.torch import save_file
        xp, settle = Torch(), lambda array: array.contiguous()
    else:
        import numpy
        from safetensors.numpy import save_file
        xp, settle = Numpy(), numpy.ascontiguousarray
    with safe_open(source, "pt" if framework == "torch" else "np") as file:
        made = {name: settle(array) for name, array in results(
            list(file.keys()), file.get_tensor, xp)}
    save_file(made, out)


def map_members(path):
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(length))
        return header, 8 + length, mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE)


def map_and_write(source, out, results):
    """The members are made twice: as views without bytes, for the header, and then."""
    import torch
    header, begin, memory = map_members(source)
    kinds = {"BF16": torch.bfloat16, "F32": torch.float32}

    def get(name):
        m = header[name]
        return torch.frombuffer(memory, dtype=kinds[m["dtype"]], count=product(m["shape"]),
                                offset=begin + m["data_offsets"][0]).reshape(m["shape"])

    def get_shape(name):
        return get(name).to("meta")

    names = list(header)
    told = {torch.bfloat16: "BF16", torch.float32: "F32"}
    with open(out, "wb") as file:
        write_header(file, [(name, told[a.dtype], list(a.shape), a.numel() * a.element_size())
                            for name, a in results(names, get_shape, Torch())])
        for _, array in results(names, get, Torch()):
            file.write(memoryview(array.contiguous().reshape(-1).view(torch.uint8).numpy()))


def run_peer(peer, family, source, out):
    results = FAMILIES[family][-1]
    if peer == "mmap":
        map_and_write(source, out, results)
    else:
        loop(source, out, results, peer)


# ----------------------------------------------------------------- measuring

def sync(path):
    fd = os.open(path, os.O_RDWR)
    os.fsync(fd)
    os.close(fd)


def forget(path):
    """Leaves nothing of a file in the page cache."""
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def run_once(words, source, out):
    """Seconds until the output is on the disk, those of processors, and the most bytes of
    memory."""
    if os.path.exists(out):
        os.unlink(out)
    forget(source)
    begin = time.monotonic()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, state, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(state)
    if child.returncode != 0:
        raise RuntimeError("%s failed: %d" % (" ".join(words), child.returncode))
    sync(out)
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def sums_of(path):
    """Of each member its type, its dimensions and a hash of its bytes."""
    header, begin, memory = map_members(path)
    header.pop("__metadata__", None)
    return {name: (m["dtype"], m["shape"], hashlib.blake2b(
        memory[begin + m["data_offsets"][0]:begin + m["data_offsets"][1]]).digest())
        for name, m in header.items()}


def has_packages(peer):
    try:
        import numpy
        if peer == "numpy":
            import ml_dtypes
        else:
            import torch
        import safetensors
    except ImportError as error:
        print("%s is left out: %s" % (peer, error))
        return False
    return True


def contestants(options, family, source, out, recipe):
    found = [("cp", ["cp", source, out])]
    for size in options.memory.split(","):
        found.append(("relayout " + size, [options.command, "weights", "--quiet", "--memory",
                                           size, "--recipe", recipe, source, out]))
    for peer in ("torch", "numpy", "mmap"):
        if subprocess.call([sys.executable, __file__, "--has", peer]) == 0:
            found.append((peer, [sys.executable, __file__, "--peer", peer, family, source, out]))
    return found


def measure(options, family, folder):
    source, out = os.path.join(folder, "in.safetensors"), os.path.join(folder, "out.safetensors")
    recipe = os.path.join(folder, "recipe.json")
    with open(recipe, "w", encoding="utf-8") as file:
        json.dump(FAMILIES[family][-2], file)
    # By a process of its own, so that this one stays small.
    subprocess.check_call([sys.executable, __file__, "--make", source, family,
                           str(options.gigabytes)])
    who = contestants(options, family, source, out, recipe)
    runs, right = {name: [] for name, _ in who}, None
    for turn in range(options.rounds):
        for name, words in who:
            runs[name].append(run_once(words, source, out))
            if turn == 0 and name != "cp":
                sums = subprocess.check_output([sys.executable, __file__, "--sums", out])
                right = right or sums
                if sums != right:
                    raise RuntimeError("%s made other members than %s" % (name, who[1][0]))
    print("\n%s: %.2f GB to %.2f GB" % (
        family, os.path.getsize(source) / 1e9, os.path.getsize(out) / 1e9))
    report(runs)


def report(runs):
    print("%-18s %9s %9s %7s %7s %9s" % ("", "seconds", "cpu", "of cp", "worst", "peak MiB"))
    for name, taken in runs.items():
        ratios = [copy[0] / run[0] for copy, run in zip(runs["cp"], taken)]
        seconds, processor, peaks = zip(*taken)
        print("%-18s %9.2f %9.2f %7.2f %7.2f %9.0f" % (
            name, statistics.median(seconds), statistics.median(processor),
            statistics.median(ratios), min(ratios), max(peaks) / 2**20), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", default="build/relayout")
    parser.add_argument("--folder", default=".")
    parser.add_argument("--gigabytes", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", default="256MiB,2GiB")
    parser.add_argument("families", nargs="*", default=list(FAMILIES))
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="relayout-weights-", dir=options.folder)
    try:
        for family in options.families:
            measure(options, family, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        run_peer(*sys.argv[2:])
    elif sys.argv[1:2] == ["--has"]:
        sys.exit(0 if has_packages(sys.argv[2]) else 1)
    elif sys.argv[1:2] == ["--make"]:
        make_input(sys.argv[2], sys.argv[3], float(sys.argv[4]))
    elif sys.argv[1:2] == ["--sums"]:
        print(sorted(sums_of(sys.argv[2]).items()))
    else:
        main()
