# SPDX-License-Identifier: Apache-2.0
"""Makes mutants: finds the places of the code that can be changed, draws some.

A site is one token or statement in the body of a function, and what replaces it.
Comments, strings, lines of the preprocessor and declarations have none; what
initialises a local variable has. See README.md beside this file.
"""

import random
import re
import sys
from collections import namedtuple

PLANNER_TESTS = (r"^test_(planner|geometry|plane|schedule|wisdom|family|gpu_|launch$|"
                 r"sum_parts|backend_differences)")
# What a test is looked for in, cheapest first, before all others that are run:
# (files, regular expressions of tests). The first row that fits counts.
FIRST_TESTS = (
    (r"src/plan/(wisdom|schedule)", ("^test_(wisdom|schedule)$",)),
    (r"src/plan/(family_bits|joined_rows)", (PLANNER_TESTS, "^test_device_bits$")),
    (r"src/plan/(family_\w*compute|sum_parts)",
     (PLANNER_TESTS, "^test_device_(compute|sum_parts)$")),
    (r"src/plan/\w*segment", (PLANNER_TESTS, "^test_device_segment_sum$")),
    (r"src/plan/\w*gather", (PLANNER_TESTS, "^test_device_indexed$")),
    (r"src/plan/(family_|gpu_|packed|plane|grid)",
     (PLANNER_TESTS, "^test_device_bytes$")),
    (r"src/plan/", (PLANNER_TESTS,)),
    (r"src/ops/segment_sum", ("^test_(segment_sum|record)$",)),
    (r"src/ir/|src/ops/",
     ("^test_(canonical|lower|index|piece$|record|strides|ops|adjoint|indexed)",)),
    (r"src/base/table", ("^test_table$",)),
    (r"src/runtime/disk_cache",
     ("^test_(disk_cache|cache_entry)$", "^test_program_(cache|disk)$")),
    (r"src/runtime/(program|plan_memo|codegen)",
     ("^test_program_(cache|disk)$", "^test_(enqueue|planned_threads)$",
      "^test_(cl|operand)_faults$")),
    (r"src/runtime/device",
     ("^test_(context|device_facts|kernel_limits|operand_faults)$",)),
    (r"src/runtime/planned", ("^test_(enqueue|context|planned_threads)$",)),
    (r"src/runtime/",
     ("^test_(enqueue|operand|context)$",
      "^(replay_api|test_(cl|alloc|measured|operand)_faults)$")),
    (r"src/move/",
     ("^test_(move|engine_calls|service|exchange)$",
      "^test_device_(engine|service|exchange)$", "^test_(cl|alloc)_faults$")),
    (r"src/base/file", ("^test_file",)),
    (r"src/cli/mpi/", ("^test_mpi_convert$",)),
    (r"src/cli/", ("^(test_cli_(text|show|files|op|hlo|resume|stop)|replay_hlo)$",)),
    (r"src/(exchange|mpi)/", ("^(test_exchange|replay_agreement)",
                              "^test_(device_exchange|mpi)$")),
    (r"src/engine/", ("^test_(scopes|engine|memory|attribute|gradients|tapes)",
                      "^test_device_(engine|gradient)", "^test_cli_op$")),
    (r"src/host/", ("^test_host_mover",)),
    (r"src/desc/digest", ("^(test|model)_digest",)),
    (r"src/safetensors/", ("^test_safetensors", "^test_cli_files$")),
    (r"src/(io|text)/", ("^test_(npy|dlpack|text)",)),
    (r"src/service/", ("^test_(service|storage|piece)",
                       "^(test|replay)_journal", "^test_service_resume")),
    (r"src/shard/", ("^test_(relabel|redistribution|sharding)",)),
    (r"src/xla/", ("^test_proto",)),
    (r"src/", ("^test_(shape|layout|text|index|strides)",)),
    (r"cl/.*(compute|arith|sum_total)", ("^test_device_compute$",)),
    (r"cl/.*segment", ("^test_device_segment_sum$",)),
    (r"cl/.*gather", ("^test_device_indexed$",)),
    (r"cl/(bits|.*join|.*places)", ("^test_device_bits$",)),
    (r"cl/", ("^test_device_bytes$",)),
)

# What need not be run before a mutant of the host survives: tests of the build, of
# documents, of the tests themselves, and those of the command and of MPI that move
# much by a code that quicker suites move little by.
LEFT_OUT = (r"^(layers|kernel_(ptx|syntax)|public_headers|install|docs_|suite_|"
            r"big_endian|test_bench|test_mpi|test_cli_(op_)?(stream|resume|stop)|"
            r".*_planted)")
# The same for a kernel: tests of the device that do not look at bytes.
LEFT_OUT_ON_DEVICE = (r"^(test_bench|bench_|test_cli|test_mpi|example|docs_|"
                      r"install|test_(drift|cl_faults|alloc_faults|measure)|"
                      r".*_planted|null_calls)")

Function = namedtuple("Function", "name start end")

SWAPS = {
    "relation": {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=",
                 "!=": "=="},
    "arithmetic": {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/",
                   "+=": "-=", "-=": "+=", "*=": "+=", "/=": "*=",
                   "<<": ">>", ">>": "<<", "&": "|", "|": "&"},
    "logic": {"&&": "||", "||": "&&"},
}
BOUND = re.compile(r"\b(?:rlo__)?(min|max)(?:_size)?(?= ?\()")
# Binary operators alone have a space on their left and a space or a line's end on
# their right: so says the format.
OPERATOR = re.compile(r"(?<= )([-+*/%]=?|==|!=|<<|>>|<=|>=|<|>|&&|\|\||&|\|)(?=[ \n])")
NUMBER = re.compile(r"(?<![\w.])(\d+)([uU]?[lL]{0,2})(?![\w.])")
ARRAY = re.compile(r"^ *(?:static |const )*\w+ \**\w+(?:\[\w+\])+;$")
CONDITION = re.compile(r"\b(?:if|while) (\()")
STATEMENT = re.compile(r"(?m)^ +([A-Za-z_(*+-][^;{}]*;)$")
NO_STATEMENT = re.compile(r"(?:return|break|continue|goto|case|default|if|for|while|"
                          r"do|else|typedef|static|const|struct|enum|union|switch|"
                          r"assert)\b")
CALL = re.compile(r"(?:\(void\))?[\w.>\[\]-]+\(")
ASSIGNMENT = re.compile(r"[(*]*\w+\)?(?:(?:->|\.)\w+|\[[^;=]*?\])* [-+*/%|&^<>]*=\s")
TRY = re.compile(r"\b(RLO_TRY(?:_GOTO)?)\(")
# How a block ends that leaves its function or its loop.
LEAVES = re.compile(r"(?:return\b|goto |continue;|break;)")
WORD = re.compile(r"\w+")


class Site:
    """One mutant: FILE:LINE:COLUMN:KIND names it as long as the file does not
    change; its file, function, line and change do so as long as these do not."""

    def __init__(self, path, text, function, kind, start, end, new, change):
        # The lines of an empty part of a statement stay.
        self.path, self.kind, self.change = path, kind, change
        self.edits = [(start, end, new)]
        self.function = function.name
        self.line_number = text.count("\n", 0, start) + 1
        line_start = text.rfind("\n", 0, start) + 1
        self.column = start - line_start + 1
        self.line = text[line_start:text.find("\n", start)].strip()
        self.area = ""

    @property
    def name(self):
        return f"{self.path}:{self.line_number}:{self.column}:{self.kind}"

    @property
    def key(self):
        return (f"{self.path}:{self.function}", self.line, self.change)

    def apply(self, text):
        for start, end, new in sorted(self.edits, reverse=True):
            text = text[:start] + new + text[end:]
        return text


def mask(text):
    """The text with blanks for comments, what is quoted and the preprocessor."""
    def blank(found):
        return re.sub(r"[^\n]", " ", found.group(0))

    def blank_inside(found):
        if found.group(0)[0] == "/":
            return blank(found)
        return found.group(0)[0] + blank(found)[1:-1] + found.group(0)[0]
    text = re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'",
                  blank_inside, text, flags=re.S)
    return re.sub(r"(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text)


def find_functions(code):
    """Functions begin and end in the first column."""
    functions = []
    for head in re.finditer(r"(?m)^[A-Za-z_][^;{}]*?\)\s*\{$", code):
        end = code.find("\n}", head.end())
        depth, name = 0, "?"
        for word in re.finditer(r"(\w+)?\s*(\()|\)", head.group(0)):
            if word.group(2):
                if depth == 0 and word.group(1) and word.group(1) != "__attribute__":
                    name = word.group(1)
                depth += 1
            else:
                depth -= 1
        if end > 0:
            functions.append(Function(name, head.end(), end))
    return functions


def find_close(code, start):
    """The place of the parenthesis that closes the one at `start`."""
    depth = 0
    for place in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[place], 0)
        if depth == 0:
            return place
    return -1


def find_checks(code, start, end):
    """Conditions whose block leaves the function or the loop: the places of their
    parentheses."""
    for found in re.finditer(r"(?m)^( *)(?:\} else )?if (\()", code[start:end]):
        opening = start + found.start(2)
        closing = find_close(code, opening)
        if code[closing:closing + 3] != ") {":
            continue
        stop = code.find(f"\n{found.group(1)}}}", closing)
        block = code[closing + 3:stop].strip()
        last = re.split(r"[;{}]\s*", block[:-1])[-1] + ";"
        if LEAVES.match(last):
            yield opening, closing


def find_deletable(code, start, end):
    """Calls and assignments alone on their lines: their places."""
    for found in STATEMENT.finditer(code, start, end):
        text = found.group(1)
        before = code[:found.start(1)].rstrip()[-1]
        if before not in ";{}:" or NO_STATEMENT.match(text):
            continue
        call = CALL.match(text)
        is_call = call and find_close(text, call.end() - 1) == len(text) - 2
        if is_call or ASSIGNMENT.match(text) or re.match(r"(\+\+|--)", text):
            yield found.start(1), found.end(1)


def depend(code, first, second):
    """Tells if two statements may depend on each other: what one assigns is in the
    other, or both are calls and pass the same name."""
    texts = [code[start:end] for start, end in (first, second)]
    targets = [t[:ASSIGNMENT.match(t).end()].rsplit(None, 1)[0] if ASSIGNMENT.match(t)
               else None for t in texts]
    for target, other in zip(targets, reversed(texts)):
        if target and re.search(r"(?<!\w)" + re.escape(target) + r"(?!\w)", other):
            return True
    passed = [set(WORD.findall(t[t.find("(") + 1:])) if "(" in t else set()
              for t in texts]
    return targets == [None, None] and bool(passed[0] & passed[1])


def find_swaps(code, statements):
    """Neighbours among statements whose order may matter: the places of both."""
    for first, second in zip(statements, statements[1:]):
        if not code[first[1]:second[0]].strip() and depend(code, first, second):
            yield first, second


def find_sites(path, text):
    """All sites of a file, in the order of their places."""
    code = mask(text)
    sites = []

    def add(function, kind, start, end, new, change):
        site = Site(path, text, function, kind, start, end, new, change)
        sites.append(site)
        return site
    for function in find_functions(code):
        first, last = function.start, function.end
        for found in OPERATOR.finditer(code, first, last):
            old = found.group(1)
            for kind, swaps in SWAPS.items():
                if old in swaps:
                    add(function, kind, *found.span(1), swaps[old],
                        f"{old} to {swaps[old]}")
        for found in NUMBER.finditer(code, first, last):
            line = code[code.rfind("\n", 0, found.start()) + 1:
                        code.find("\n", found.end())]
            if not ARRAY.match(line):
                new = str(int(found.group(1)) + 1)
                add(function, "constant", *found.span(1), new,
                    f"{found.group(1)} to {new}")
        for found in CONDITION.finditer(code, first, last):
            opening = found.start(1)
            closing = find_close(code, opening)
            site = add(function, "negate", opening, opening + 1, "(!(", "negate")
            site.edits.append((closing, closing + 1, "))"))
        for found in BOUND.finditer(code, first, last):
            new = {"min": "max", "max": "min"}[found.group(1)]
            add(function, "bound", *found.span(1), new, f"{found.group(1)} to {new}")
        statements = list(find_deletable(code, first, last))
        for start, end in statements:
            blank = ";" + re.sub(r"[^\n]", " ", text[start + 1:end])
            add(function, "delete", start, end, blank, "delete")
        for one, other in find_swaps(code, statements):
            site = add(function, "swap", *one, text[slice(*other)], "swap")
            site.edits.append((*other, text[slice(*one)]))
        for found in TRY.finditer(code, first, last):
            add(function, "ignore", *found.span(1), "(void)", "ignore")
        for opening, closing in find_checks(code, first, last):
            site = add(function, "ignore", opening, opening + 1, "(0 && (", "ignore")
            site.edits.append((closing, closing + 1, "))"))
    sites.sort(key=lambda s: s.edits[0])
    count_equal(sites)
    return sites


def count_equal(sites):
    """The second change of a kind in equal lines of a function is "+ to - (2)"."""
    seen = {}
    for site in sites:
        seen[site.key] = seen.get(site.key, 0) + 1
        if seen[site.key] > 1:
            site.change += f" ({seen[site.key]})"


def area_of(path):
    """The room of src/ that a file is in, or "kernels"; None for other files."""
    found = re.fullmatch(r"src/(\w+)/.*\.c|cl/\w+\.cl", path)
    return found and (found.group(1) or "kernels")


def find_area_sites(root, files, chosen):
    """The sites of each area whose name, or whose file's path, has a match of the
    regular expression `chosen`. All rooms are found: the tree says which there
    are."""
    found = {}
    for path in sorted(files):
        area = area_of(path)
        if area and (re.search(chosen, area) or re.search(chosen, path)):
            found.setdefault(area, []).extend(
                find_sites(path, (root / path).read_text()))
    return {area: sites for area, sites in sorted(found.items()) if sites}


def draw(sites_of, seed):
    """Draws from each area in turn, no site twice, without end but that of sites."""
    generator = random.Random(seed)
    left = {name: list(sites) for name, sites in sites_of.items()}
    for sites in left.values():
        generator.shuffle(sites)
    drawn = set()
    while any(left.values()):
        for name, sites in left.items():
            while sites:
                site = sites.pop()
                if site.name not in drawn:
                    drawn.add(site.name)
                    site.area = name
                    yield site
                    break


def read_site(root, name):
    """The site that FILE:LINE:COLUMN:KIND names."""
    path = name.split(":")[0]
    if not (root / path).is_file():
        sys.exit(f"generate: there is no file {path}")
    for site in find_sites(path, (root / path).read_text()):
        if site.name == name:
            site.area = area_of(path)
            return site
    sys.exit(f"generate: there is no mutant {name}")


def read_explained(root, path):
    """{key of a site: why it changes nothing}, of lines
    FILE:FUNCTION :: LINE :: CHANGE :: WHY, where a change may be "any". One that
    fits nothing is an error."""
    explained = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        fields = [f.strip() for f in line.split(" :: ")]
        if len(fields) != 4 or not fields[3]:
            sys.exit(f"{path.name}:{number}: not FILE:FUNCTION :: LINE :: CHANGE "
                     ":: WHY")
        file = root / fields[0].split(":")[0]
        keys = ({s.key for s in find_sites(fields[0].split(":")[0],
                                           file.read_text())}
                if file.is_file() else set())
        keys |= {(place, line, "any") for place, line, _ in keys}
        if tuple(fields[:3]) not in keys:
            sys.exit(f"{path.name}:{number}: stale: there is no such change of "
                     "such a line")
        explained[tuple(fields[:3])] = fields[3]
    return explained


def find_reason(explained, site):
    """Why a mutant changes nothing, or None."""
    return explained.get(site.key, explained.get((*site.key[:2], "any")))


def is_on_device(path):
    return path.startswith(("cl/", "src/runtime/", "src/codegen/", "src/move/",
                            "src/engine/", "src/service/", "src/exchange/"))


def first_stages(path):
    """What ctest is asked first about a mutant of this file, and for how many
    seconds of CPU a program may run."""
    tests = next(tests for files, tests in FIRST_TESTS if re.match(files, path))
    return [(("-R", regex), 600 if regex.startswith("^test_device_") else 10)
            for regex in tests]


def last_stages(path):
    """Returns stages as first_stages does, before the mutant survives."""
    stages = []
    if not path.startswith("cl/"):
        stages.append((("-L", "^host$", "-E", LEFT_OUT), 300))
    else:
        # It sees what is read or written beyond arrays, and what nobody wrote.
        stages.append((("-R", "^oclgrind"), 900))
    if is_on_device(path):
        left_out = LEFT_OUT_ON_DEVICE if path.startswith("cl/") else r"^(bench_|docs_)"
        stages.append((("-L", "^device$", "-E", left_out), 900))
    return stages
