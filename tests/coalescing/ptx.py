# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's PTX, as far as clang writes it for these kernels: a kernel is
translated to a Python function that runs one lane and returns the basic blocks
that it came by. What memory holds is not known, so loads give 0: good for
kernels whose branches and addresses depend on indices and arguments alone.
"""
import re

# Where the names of memory lie, for addresses that nobody reads.
SHARED = 1 << 40

_BITS = {"b8": 8, "u8": 8, "s8": 8, "b16": 16, "u16": 16, "s16": 16, "f16": 16,
         "b32": 32, "u32": 32, "s32": 32, "f32": 32, "b64": 64, "u64": 64,
         "s64": 64, "f64": 64, "pred": 1}
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">",
            "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
_BITWISE = {"and": "&", "or": "|", "xor": "^"}


class PtxError(Exception):
    """PTX that this module does not know."""


class Instruction:
    """"@%p1 ld.global.v4.u32 {a, b, c, d}, [x+16];" in parts."""

    def __init__(self, text):
        self.text = text
        guard = re.match(r"@(!?)(%\w+)\s+(.*)", text)
        self.guard = None
        if guard:
            self.guard = (_name(guard.group(2)), guard.group(1) == "!")
            text = guard.group(3)
        self.op, _, rest = text.partition(" ")
        if "\t" in self.op:
            self.op, _, rest = text.partition("\t")
        self.words = self.op.split(".")
        self.operands = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+", rest)
        self.type = self.words[-1]
        self.bits = _BITS.get(self.type, 0)

    def is_jump(self):
        return self.words[0] in ("bra", "ret", "exit")

    def memory(self):
        """(load or store, space, bytes of a lane), or None."""
        if self.words[0] not in ("ld", "st") or "param" in self.words:
            return None
        space = next((w for w in ("shared", "local", "const", "global")
                      if w in self.words), "global")
        lanes = next((int(w[1]) for w in self.words if w in ("v2", "v4")), 1)
        return (self.words[0], space, lanes * self.bits // 8)

    def half(self):
        """The only half, "low" or "high", of the pair of registers it writes
        that is not 0, or None."""
        kind = self.words[0]
        if (kind == "ld" and self.type in ("u32", "b32")
                or kind == "cvt" and self.words[-2:] == ["u64", "u32"]):
            return "low"
        if self.bits == 64 and kind == "shl" and self.operands[2] == "32":
            return "high"
        return None

    def machine_instructions(self, halves):
        """About how many instructions of a GPU of 32 bits it becomes. `halves`
        has those of the registers so far."""
        kind = self.words[0]
        wide = self.bits == 64
        if wide and kind == "or" and (  # two halves as one pair
                {halves.get(o) for o in self.operands[1:]} == {"low", "high"}):
            return 0
        if kind in ("mov", "cvta") or (kind == "ld" and "param" in self.words):
            return 0
        if kind == "cvt":  # to or from half a pair of registers
            return 0 if set(self.words[-2:]) <= {"u64", "u32"} else 1
        if wide and kind in ("shl", "shr") and self.operands[2] == "32":
            return 0 if self.type[0] != "s" else 1  # from half to half of a pair
        if kind in ("div", "rem"):
            return 60 if wide else 20
        if kind in ("mul", "mad") and wide and "wide" not in self.words:
            return 3
        return 2 if wide and kind in (
            "add", "sub", "and", "or", "xor", "not", "neg", "selp", "min",
            "max", "shl", "shr", "setp") else 1


class Block:
    """Instructions without a jump between them."""

    def __init__(self):
        self.instructions = []
        self.jump = None
        self.cost = 0
        # (machine instructions before it, what, space, bytes, registers): a load
        # and what it writes, a store, "bar", "use" and what it reads, or "name",
        # in place of a space what is copied, and to what.
        self.events = []

    def append(self, instruction, halves):
        self.instructions.append(instruction)
        registers = [re.findall(r"%[a-z]+\d+", o) for o in instruction.operands]
        written, read = registers[:1], registers[1:]
        event = instruction.memory()
        if instruction.words[0] == "st":
            written, read = [], registers
        written, read = set(sum(written, [])), set(sum(read, []))
        if instruction.words[0] in ("mov", "cvt"):  # another name of it
            self.events.append((self.cost, "name", read, 0, written))
        else:
            self.events.append((self.cost, "use", "", 0, read))
        if instruction.words[0] == "bar":
            event = ("bar", "", 0)
        if event:
            self.events.append((self.cost,) + event + (written,))
        self.cost += instruction.machine_instructions(halves)

    def keep_uses_of(self, loaded):
        """Leaves the uses of what is loaded from global memory."""
        self.events = [e for e in self.events
                       if e[1] not in ("use", "name") or e[4] & loaded]


def _name(operand):
    """A register as a Python name."""
    return operand.lstrip("%").replace(".", "_")


def _signed(text, bits):
    sign = 1 << bits - 1
    return f"(({text} & {2 * sign - 1} ^ {sign}) - {sign})"


def _list_parameters(text, kernel):
    """[(name, bytes)] in order."""
    head = text[text.index(".entry " + kernel):]
    head = head[:head.index("{")]
    found = re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+"
                       r"(?:\.ptr\b.*?)?(\w+_param_\d+)(?:\[(\d+)\])?", head)
    return [(name, int(count or 1) * _BITS[kind] // 8)
            for kind, name, count in found]


class Kernel:
    """A kernel of a text of PTX, to be run with these arguments: bytes for
    each parameter, in order."""

    def __init__(self, text, name, arguments):
        parameters = _list_parameters(text, name)
        if [len(a) for a in arguments] != [size for _, size in parameters]:
            raise PtxError(f"arguments of {[len(a) for a in arguments]} bytes "
                           f"for parameters {parameters}")
        self.arguments = {p[0]: a for p, a in zip(parameters, arguments)}
        self.shared_bytes = 0
        self.private_bytes = 0
        self.symbols = {}
        for space, symbol, size in re.findall(
                r"\.(shared|local)\s+\.align\s+\d+\s+\.b8\s+([\w$]+)\[(\d+)\]",
                text):
            if space == "shared":
                self.symbols[symbol] = SHARED + self.shared_bytes
                self.shared_bytes += int(size)
            else:
                self.symbols[symbol] = 0
                self.private_bytes += int(size)
        body = text[text.index(".entry " + name):]
        self._split(body[body.index("{") + 1:])
        loaded = set()
        before = -1
        while before < len(loaded):  # names of names
            before = len(loaded)
            for event in (e for b in self.blocks for e in b.events):
                if event[1:3] == ("ld", "global") or (
                        event[1] == "name" and event[2] & loaded):
                    loaded |= event[4]
        for block in self.blocks:
            block.keep_uses_of(loaded)
        self.run = self._translate()

    def _split(self, body):
        """Into blocks; a label begins one, a jump or a guard ends one."""
        self.blocks = [Block()]
        self.labels = {}
        halves = {}
        for line in body.split("\n"):
            line = line.split("//")[0].strip()
            if line == "}":
                break
            label = re.match(r"(\$?\w+):$", line)
            if label:
                self.blocks.append(Block())
                self.labels[label.group(1)] = len(self.blocks) - 1
                continue
            if not line or line.startswith("."):
                continue
            for text in filter(None, (t.strip() for t in line.split(";"))):
                instruction = Instruction(text)
                block = self.blocks[-1]
                block.append(instruction, halves)
                if instruction.half():
                    halves[instruction.operands[0]] = instruction.half()
                if instruction.is_jump():
                    block.jump = instruction
                    self.blocks.append(Block())

    # ----------------------------------------------------------- translation

    def _value(self, operand):
        if operand in ("%ctaid.x", "%tid.x", "%nctaid.x", "%ntid.x"):
            return _name(operand)
        if operand in self.symbols:
            return str(self.symbols[operand])
        if re.match(r"0[fd][0-9a-fA-F]+$", operand):
            return "0"  # numbers are not computed
        if re.match(r"-?\d+$|0x", operand):
            return f"({int(operand, 0)})"
        if operand.startswith("%"):
            return _name(operand)
        raise PtxError("what is " + operand)

    def _expression(self, i):
        """The value that an instruction gives its first operand."""
        kind, words, bits = i.words[0], i.words, i.bits
        x = [self._value(o) for o in i.operands[1:]
             if o[0] not in "[{"]
        mask = (1 << bits) - 1
        if kind in ("mov", "cvta"):
            return x[0]
        if kind == "cvt":
            if "f" in words[-1][0] + words[-2][0]:
                return "0"
            to_bits = _BITS[words[-2]]
            value = x[0] + f" & {mask}"
            if words[-1][0] == "s":
                value = _signed(x[0], bits)
            return f"({value}) & {(1 << to_bits) - 1}"
        if i.type in ("f16", "f32", "f64"):
            return "0"
        if kind == "not":
            return f"(not {x[0]})" if i.type == "pred" else f"~{x[0]} & {mask}"
        if kind in _BITWISE:
            return f"{x[0]} {_BITWISE[kind]} {x[1]}"
        if kind == "selp":
            return f"({x[0]} if {x[2]} else {x[1]}) & {mask}"
        if kind == "shl":
            return f"{x[0]} << min({x[1]}, {bits}) & {mask}"
        if kind == "shf":
            pair = f"(({x[1]} & {mask}) << 32 | {x[0]} & {mask})"
            count = f"({x[2]} & 31)"
            return (f"{pair} << {count} >> 32 & {mask}" if words[1] == "l"
                    else f"{pair} >> {count} & {mask}")
        if kind == "clz":
            return f"{bits} - ({x[0]} & {mask}).bit_length()"
        if kind == "popc":
            return f"bin({x[0]} & {mask}).count('1')"
        if kind in ("prmt", "bfe", "bfi"):
            return "0"  # what only data goes through
        if i.type[0] == "s":
            x = [_signed(v, bits) for v in x] if kind != "shr" else \
                [_signed(x[0], bits), x[1]]
        else:
            x = [f"({v} & {mask})" for v in x]
        if kind == "shr":
            return f"{x[0]} >> min({x[1]}, {bits}) & {mask}"
        if kind in ("add", "sub"):
            return f"{x[0]} {'+' if kind == 'add' else '-'} {x[1]} & {mask}"
        if kind in ("mul", "mad"):
            product = f"{x[0]} * {x[1]}"
            if "wide" in words:
                mask = (1 << 2 * bits) - 1
            elif "hi" in words:
                product = f"({product} >> {bits})"
            third = self._value(i.operands[3]) if kind == "mad" else "0"
            return f"{product} + {third} & {mask}"
        if kind in ("min", "max"):
            return f"{kind}({x[0]}, {x[1]}) & {mask}"
        if kind == "neg":
            return f"-{x[0]} & {mask}"
        if kind in ("div", "rem"):
            operator = "//" if kind == "div" else "%"
            return f"({x[0]} {operator} ({x[1]} or 1)) & {mask}"
        raise PtxError("what is " + i.text)

    def _load_parameter(self, i):
        symbol, _, offset = i.operands[1].strip("[]").partition("+")
        raw = self.arguments[symbol.strip()]
        at, size = int(offset or 0), i.bits // 8
        lines = []
        for name in i.operands[0].strip("{}").split(","):
            value = int.from_bytes(raw[at:at + size], "little")
            lines.append(f"{_name(name.strip())} = {value}")
            at += size
        return lines

    def _statement(self, i):
        """Lines of Python for an instruction that does not jump."""
        kind = i.words[0]
        if kind in ("st", "bar", "membar", "fence"):
            return []
        if kind == "ld" and "param" in i.words:
            lines = self._load_parameter(i)
        elif kind == "ld" or (kind == "mov" and "{" in i.text):
            if "const" in i.words:
                raise PtxError("constant memory is not known: " + i.text)
            lines = [f"{_name(name.strip())} = 0"
                     for name in i.operands[0].strip("{}").split(",")]
        elif kind == "setp":
            lines = [f"{_name(i.operands[0])} = {self._comparison(i)}"]
        else:
            lines = [f"{_name(i.operands[0])} = {self._expression(i)}"]
        if i.guard:
            test = ("not " if i.guard[1] else "") + i.guard[0]
            return [f"if {test}:"] + [" " + line for line in lines]
        return lines

    def _comparison(self, i):
        if i.type[0] == "f":
            return "False"
        operator = _COMPARE.get(i.words[1])
        if operator is None or len(i.words) != 3:
            raise PtxError("what is " + i.text)
        x = [self._value(o) for o in i.operands[1:]]
        if i.type[0] == "s":
            x = [_signed(v, i.bits) for v in x]
        else:
            x = [f"({v} & {(1 << i.bits) - 1})" for v in x]
        return f"{x[0]} {operator} {x[1]}"

    def _block_lines(self, n):
        block = self.blocks[n]
        lines = []
        for i in block.instructions:
            if not i.is_jump():
                lines += self._statement(i)
        jump = block.jump
        if jump is None:
            return lines + [f"b = {n + 1}"]
        if jump.words[0] != "bra":
            return lines + ["return trace"]
        target = self.labels[jump.operands[0]]
        if not jump.guard:
            return lines + [f"b = {target}"]
        test = ("not " if jump.guard[1] else "") + jump.guard[0]
        return lines + [f"b = {target} if {test} else {n + 1}"]

    def _dispatch(self, first, end, indent):
        """Finds block b among [first, end) by halves."""
        pad = " " * indent
        if end - first == 1:
            return [pad + line for line in self._block_lines(first)]
        middle = (first + end) // 2
        return ([f"{pad}if b < {middle}:"]
                + self._dispatch(first, middle, indent + 1)
                + [pad + "else:"]
                + self._dispatch(middle, end, indent + 1))

    def _translate(self):
        registers = set()
        for block in self.blocks:
            for i in block.instructions:
                registers |= set(re.findall(r"%[a-z]+\d+", i.text))
        names = " = ".join(sorted(_name(r) for r in registers))
        lines = ["def run(ctaid_x, tid_x, nctaid_x, ntid_x, limit):",
                 f" {names} = 0",
                 " trace = []",
                 " b = 0",
                 " while True:",
                 "  trace.append(b)",
                 "  if len(trace) > limit: raise PtxError('no end')"]
        lines += self._dispatch(0, len(self.blocks), 2)
        scope = {"PtxError": PtxError}
        exec("\n".join(lines), scope)  # pylint: disable=exec-used
        return scope["run"]


class Flight:
    """The loads of a lane that are on their way: until something is stored or
    awaited, or until what they read is used. A compiler moves the loads of a
    block before its uses, so a use counts at the end of the block."""

    def __init__(self):
        self.loads = []  # (registers, bytes, whether of an earlier block)
        self.most = 0

    def load(self, registers, size):
        self.loads.append((registers, size, False))
        self.most = max(self.most, sum(load[1] for load in self.loads))

    def name(self, registers, others):
        self.loads = [(of | others if of & registers else of - others, size, e)
                      for of, size, e in self.loads]

    def land(self):
        self.loads = []

    def use(self, registers, is_block_over):
        """Loads arrive in order."""
        for n in reversed(range(len(self.loads))):
            of, _, is_earlier = self.loads[n]
            if of & registers and (is_earlier or is_block_over):
                self.loads = self.loads[n + 1:]
                return

    def end_block(self, used):
        self.use(used, True)
        self.loads = [(of, size, True) for of, size, _ in self.loads]


class WarpCounts:
    """What 32 lanes did: machine instructions (a block that lanes come by a
    different number of times is issued for the busiest of them), those before
    the first load, and the most bytes that are on their way from global
    memory at a time."""

    def __init__(self, kernel, group, first_lane, num_lanes, launch):
        visits = {}
        self.in_flight_bytes = 0
        self.read_bytes = 0
        self.written_bytes = 0
        self.prologue = 0
        for lane in range(first_lane, first_lane + num_lanes):
            trace = kernel.run(group, lane, launch["groups"],
                               launch["items"], 1 << 20)
            own = {}
            for b in trace:
                own[b] = own.get(b, 0) + 1
            for b, count in own.items():
                visits[b] = max(visits.get(b, 0), count)
            self._walk(kernel, trace)
        self.instructions = sum(kernel.blocks[b].cost * count
                                for b, count in visits.items())

    def _walk(self, kernel, trace):
        cost = 0
        flight = Flight()
        first_load = None
        for b in trace:
            block = kernel.blocks[b]
            used = set()
            for before, what, space, size, registers in block.events:
                if what == "use":
                    flight.use(registers, False)
                    used |= registers
                elif what == "name":
                    flight.name(space, registers)
                elif what == "ld" and space == "global":
                    if first_load is None:
                        first_load = cost + before
                    self.read_bytes += size
                    used -= registers
                    flight.load(registers, size)
                elif what in ("st", "bar"):
                    flight.land()
                    if space == "global":
                        self.written_bytes += size
            flight.end_block(used)
            cost += block.cost
        self.in_flight_bytes += flight.most
        self.prologue = max(self.prologue,
                            cost if first_load is None else first_load)
